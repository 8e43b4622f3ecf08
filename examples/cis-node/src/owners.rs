//! The owner and the mode of a file with settings.

use plumbline_sdk::{Context, Item, Output, Status};

/// The permissions that a file with settings may have: those of its owner to read and write.
const ALLOWED: u32 = 0o600;

/// Emits an item for the owner of a file, and one for its mode.
pub(crate) fn report(context: &mut Context, file: &str, out: &mut Output) {
    let (owner, mode) =
        (Item::new(1, "its file belongs to root"), Item::new(1, "nobody else can read or change its file"));
    let found = match context.attributes(file) {
        Ok(found) => found,
        Err(error) => {
            let unknown = |item: Item| item.status(Status::Unknown).meta("error", error.to_string());
            out.emit(unknown(owner));
            return out.emit(unknown(mode));
        }
    };
    out.emit(match (found.uid, found.gid) {
        (0, 0) => owner.status(Status::Passed),
        (uid, gid) => owner.status(Status::Failed).text("failure", format!("want 0:0, got {uid}:{gid}")),
    });
    out.emit(match found.permissions() {
        permissions if permissions & !ALLOWED == 0 => mode.status(Status::Passed),
        permissions => {
            mode.status(Status::Failed).text("failure", format!("want {ALLOWED:04o} or less, got {permissions:04o}"))
        }
    });
}

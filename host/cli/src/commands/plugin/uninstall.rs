//! `plumbline plugin uninstall`

use std::process::ExitCode;

use plumbline_app::{AppError, sources};

use crate::args::{Global, UninstallArgs};
use crate::logging;
use crate::ui::say;

/// Removes installed bundles. All names are checked before the first is removed, so that a typo
/// removes nothing.
pub(crate) fn uninstall(args: &UninstallArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let store = sources::store()?;
    let list = store.list().map_err(|error| sources::store_error("failed to list installed bundles", &error))?;
    if let Some(name) = args.names.iter().find(|name| !list.iter().any(|entry| entry.name == **name)) {
        let told = AppError::usage(format!("no bundle `{name}` is installed"));
        return Err(match plumbline_bundle::built_in::definition(name) {
            Some(_) => told.hint("it is a built-in plugin, which belongs to the program"),
            None => told.hint("`plumbline plugin list` shows what is installed"),
        });
    }
    for name in &args.names {
        let path = store.dir().join(name);
        if args.dry_run {
            say(&format!("would remove `{name}`: {}", path.display()));
            continue;
        }
        store
            .remove(name)
            .map_err(|error| sources::store_error(format!("failed to remove bundle `{name}`"), &error))?;
        say(&format!("removed `{name}`: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

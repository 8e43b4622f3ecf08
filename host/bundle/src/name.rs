//! Names of files in a bundle: one spelling each, safe to join to a directory.

use plumbline_archive::member::{MemberName, NameFault, NameLimits};

use crate::limits::{MAX_DEPTH, MAX_PATH_BYTES};
use crate::ustar;

/// Why a file cannot be part of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// Its name leads elsewhere, or is too long.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// Its name is another spelling of a name, as `./a` or `a//b`.
    #[error("its name is not in its plain form, without `./`, `//` and a slash at the end")]
    NotPlain,
    /// Its name holds something that is no part of a name on some system.
    #[error("its name holds a backslash or a control character")]
    Character,
    /// The tar format has no room for its name.
    #[error("its name does not fit into a tar: shorten names of files to 100 bytes")]
    DoesNotFit,
    /// A symbolic link.
    #[error("a symbolic link")]
    Symlink,
    /// A hard link.
    #[error("a hard link")]
    HardLink,
    /// A device.
    #[error("a device")]
    Device,
    /// A named pipe.
    #[error("a named pipe")]
    Fifo,
    /// A socket.
    #[error("a socket")]
    Socket,
    /// A sparse file.
    #[error("a sparse file")]
    Sparse,
    /// A directory of its own: directories follow from the names of files.
    #[error("a directory, where only files are packed")]
    Directory,
    /// A header that changes the meaning of the next one: what different programs read out of it differs.
    #[error("an extended header ({0}), which a bundle does not need")]
    Extended(&'static str),
    /// A type that is not known here: the byte in the header.
    #[error("an entry of type {:?}", char::from(*.0))]
    Type(u8),
    /// Times, owners, modes or the way of writing numbers are not those of a bundle.
    #[error("its header is not as `plumbline plugin pack` writes it: times, owners or modes are set")]
    Header,
    /// It comes twice, or not in its order.
    #[error("it is not in its order, or comes twice: files are sorted by name")]
    Order,
    /// A file stands where a directory is needed.
    #[error("it lies below something that is a file")]
    BelowFile,
    /// The padding behind a file holds something.
    #[error("there are bytes hidden behind its end")]
    Padding,
    /// No rule and no pattern takes it into the bundle.
    #[error("it is not a part of a bundle: neither a module, text, schema or test, nor listed under `plumbline.files`")]
    NotSelected,
}

/// Checks that `raw` is a name that a file of a bundle may have.
pub(crate) fn check(raw: &[u8]) -> Result<&str, EntryFault> {
    let limits = NameLimits { path_bytes: MAX_PATH_BYTES, depth: MAX_DEPTH };
    let plain = MemberName::parse(raw, &limits)?;
    let name = str::from_utf8(raw).map_err(|_| NameFault::NotUtf8)?;
    if plain.as_str() != name || name.is_empty() {
        return Err(EntryFault::NotPlain);
    }
    if name.chars().any(|c| c == '\\' || c.is_control()) {
        return Err(EntryFault::Character);
    }
    if !ustar::fits(name) {
        return Err(EntryFault::DoesNotFit);
    }
    Ok(name)
}

/// A name for people: control characters escaped, cut to 120 characters.
pub(crate) fn shown(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let mut short: String = text.chars().take(120).collect::<String>().escape_debug().collect();
    if text.chars().nth(120).is_some() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling_and_stay_inside() {
        for good in ["plugin.yaml", "tests/a/results/global/x y.xml", "äöü", "..a", &format!("{}/b", "a".repeat(100))]
        {
            assert_eq!(check(good.as_bytes()), Ok(good));
        }
        let deep = "d/".repeat(16) + "f";
        for (bad, fault) in [
            ("", EntryFault::NotPlain),
            ("./a", EntryFault::NotPlain),
            ("a//b", EntryFault::NotPlain),
            ("a/", EntryFault::NotPlain),
            ("/a", EntryFault::Name(NameFault::Absolute)),
            ("../a", EntryFault::Name(NameFault::Parent)),
            ("a/../b", EntryFault::Name(NameFault::Parent)),
            ("a\0b", EntryFault::Name(NameFault::Nul)),
            ("a\\b", EntryFault::Character),
            ("a\nb", EntryFault::Character),
            (&deep, EntryFault::Name(NameFault::TooDeep(16))),
            (&"a".repeat(101), EntryFault::DoesNotFit),
            (&format!("{}/{}", "a".repeat(120), "b".repeat(120)), EntryFault::Name(NameFault::TooLong(240))),
            (&format!("{}/{}", "a".repeat(160), "b"), EntryFault::DoesNotFit),
        ] {
            assert_eq!(check(bad.as_bytes()), Err(fault), "{bad}");
        }
    }
}

//! Names of files in a bundle. Each has one spelling and is safe to join to a directory.

use plumbline_archive::member::{MemberName, NameFault, NameLimits};

use crate::limits::{MAX_DEPTH, MAX_PATH_BYTES};
use crate::ustar;

/// Reason why a file cannot be part of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The name leads out of the bundle, or is too long.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// The name is not in its plain form, such as `./a` or `a//b`.
    #[error("its name is not in its plain form, without `./`, `//` and a slash at the end")]
    NotPlain,
    /// The name contains a backslash or a control character, which some systems do not allow.
    #[error("its name holds a backslash or a control character")]
    Character,
    /// The name does not fit into a tar header.
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
    /// A separate entry for a directory. Directories follow from the names of files.
    #[error("a directory, where only files are packed")]
    Directory,
    /// A header that changes the meaning of the next one. Programs interpret such headers
    /// differently.
    #[error("an extended header ({0}), which a bundle does not need")]
    Extended(&'static str),
    /// An unknown type: the byte in the header.
    #[error("an entry of type {:?}", char::from(*.0))]
    Type(u8),
    /// Times, owners, modes or the format of numbers are not those of a bundle.
    #[error("its header is not as `plumbline plugin pack` writes it: times, owners or modes are set")]
    Header,
    /// The entry is a duplicate, or out of order.
    #[error("it is not in its order, or comes twice: files are sorted by name")]
    Order,
    /// An ancestor of the entry is a file.
    #[error("it lies below something that is a file")]
    BelowFile,
    /// The padding after a file contains bytes other than zero.
    #[error("there are bytes hidden behind its end")]
    Padding,
    /// The file is not selected by any rule or pattern.
    #[error("it is not a part of a bundle: neither a module, text, schema or test, nor listed under `plumbline.files`")]
    NotSelected,
}

/// Checks that `raw` is a valid name for a file of a bundle.
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

/// Returns a name for display, with control characters escaped, truncated to 120 characters.
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

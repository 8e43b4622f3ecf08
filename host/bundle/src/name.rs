//! Names of files in a bundle. Each has one spelling and is safe to join to a directory.

pub(crate) use plumbline_archive::member::shown;
use plumbline_archive::member::{MemberName, NameFault, NameLimits};

use crate::limits::{MAX_DEPTH, MAX_PATH_BYTES};

/// Reason why a file cannot be part of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The name leads out of the bundle, or is too long.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// The name is not in its plain form, such as `./a` or `a//b`.
    #[error("its name is not normalized: remove `./`, `//` and the trailing slash")]
    NotPlain,
    /// The name contains a backslash or a control character, which some systems do not allow.
    #[error("its name has a backslash or a control character")]
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
    #[error("a directory: bundles have only files")]
    Directory,
    /// A header that changes the meaning of the next one. Programs interpret such headers
    /// differently.
    #[error("an extended header ({0}), which bundles must not have")]
    Extended(&'static str),
    /// An unknown type: the byte in the header.
    #[error("an entry of type {:?}", char::from(*.0))]
    Type(u8),
    /// Times, owners, modes or the format of numbers are not those of a bundle.
    #[error("its header has times, owners or modes, which `plumbline plugin pack` does not write")]
    Header,
    /// The entry is a duplicate, or out of order.
    #[error("it is duplicate or out of order: files must be sorted by name")]
    Order,
    /// An ancestor of the entry is a file.
    #[error("its parent directory is a file")]
    BelowFile,
    /// The padding after a file contains bytes other than zero.
    #[error("it has hidden bytes after its end")]
    Padding,
    /// The file is not selected by any rule or pattern.
    #[error("it is not a module, text, schema or test, and `plumbline.files` does not list it")]
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
    if split(name).is_none() {
        return Err(EntryFault::DoesNotFit);
    }
    Ok(name)
}

/// Size of the field for the last part of a name in a tar header, in bytes.
pub(crate) const NAME_BYTES: usize = 100;
/// Size of the field for the directories before it, in bytes.
pub(crate) const PREFIX_BYTES: usize = 155;

/// Splits a name into the directories for the prefix field of a tar header and the rest. The prefix
/// is as short as possible, so that the split is unique. `None` if the name does not fit.
pub(crate) fn split(name: &str) -> Option<(&str, &str)> {
    if name.len() <= NAME_BYTES {
        return Some(("", name));
    }
    let (prefix, rest) = name
        .match_indices('/')
        .filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)))
        .find(|(_, rest)| rest.len() <= NAME_BYTES)?;
    (!prefix.is_empty() && prefix.len() <= PREFIX_BYTES && !rest.is_empty()).then_some((prefix, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_split_in_one_way() {
        let long = format!("{}/{}/{}", "a".repeat(60), "b".repeat(60), "c".repeat(60));
        let (prefix, rest) = split(&long).unwrap();
        assert_eq!((prefix.len(), rest.len()), (121, 60));
        assert_eq!(split("a/b"), Some(("", "a/b")));
        assert_eq!(split(&format!("/{}", "b".repeat(100))), None);
    }

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

//! Member names that are safe to join to a directory.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use plumbline_core::limits::{ARCHIVE_DEPTH, ARCHIVE_PATH_BYTES, RESULT_DEPTH, RESULT_PATH_BYTES};
use plumbline_core::text::Printable;

/// The maximum length of one component in bytes: `NAME_MAX` of Linux.
pub const COMPONENT_BYTES: usize = 255;

/// The number of characters of an invalid name that an error shows.
const SHOWN_CHARS: usize = 120;

/// The limits of a name. The default is for names in a results archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameLimits {
    /// The length of the whole name in bytes. Default [`ARCHIVE_PATH_BYTES`].
    pub path_bytes: usize,
    /// The number of components. Default [`ARCHIVE_DEPTH`].
    pub depth: usize,
}

impl NameLimits {
    /// The limits for names in an upload. Every name within them also fits into the archive.
    pub const RESULT: Self = Self { path_bytes: RESULT_PATH_BYTES, depth: RESULT_DEPTH };
}

impl Default for NameLimits {
    fn default() -> Self {
        Self { path_bytes: ARCHIVE_PATH_BYTES, depth: ARCHIVE_DEPTH }
    }
}

/// Why a name is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// It starts with `/`.
    #[error("an absolute path")]
    Absolute,
    /// A component is `..`.
    #[error("a path with `..`")]
    Parent,
    /// It contains a NUL byte, so different parts of the system would see different names.
    #[error("a NUL byte in the name")]
    Nul,
    /// It is not UTF-8. All later steps (modules, result trees, reports) use Unicode, and
    /// replacement characters could cause collisions.
    #[error("a name that is not UTF-8")]
    NotUtf8,
    /// It exceeds the length limit in bytes.
    #[error("a name longer than {0} bytes")]
    TooLong(usize),
    /// One of its components is longer than [`COMPONENT_BYTES`].
    #[error("a name with a component longer than {COMPONENT_BYTES} bytes")]
    ComponentTooLong,
    /// It exceeds the limit of components.
    #[error("a path with more than {0} components")]
    TooDeep(usize),
}

/// The name of a member, relative to the directory into which it is unpacked.
///
/// It consists of components joined by `/`, without NUL bytes. No component is empty, `.` or `..`.
/// The name is empty for the root itself, as in the members `.` and `./`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberName(String);

impl MemberName {
    /// Parses a name as written in an archive. Leading `./` and double and trailing slashes are
    /// removed, as in tar. Nothing ambiguous is repaired.
    pub fn parse(raw: &[u8], limits: &NameLimits) -> Result<Self, NameFault> {
        if raw.contains(&0) {
            return Err(NameFault::Nul);
        }
        if raw.first() == Some(&b'/') {
            return Err(NameFault::Absolute);
        }
        if raw.len() > limits.path_bytes {
            return Err(NameFault::TooLong(limits.path_bytes));
        }
        let text = str::from_utf8(raw).map_err(|_| NameFault::NotUtf8)?;
        let mut name = String::with_capacity(text.len());
        let mut depth = 0;
        for component in text.split('/') {
            match component {
                "" | "." => continue,
                ".." => return Err(NameFault::Parent),
                long if long.len() > COMPONENT_BYTES => return Err(NameFault::ComponentTooLong),
                _ => depth += 1,
            }
            if depth > limits.depth {
                return Err(NameFault::TooDeep(limits.depth));
            }
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(component);
        }
        Ok(Self(name))
    }

    /// Returns the name without leading and trailing slashes. It is empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the directory itself into which the archive is unpacked.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the directory (empty for the root) and the last component, or `None` for the root
    /// itself.
    pub fn split(&self) -> Option<(&str, &str)> {
        if self.is_root() { None } else { Some(self.0.rsplit_once('/').unwrap_or(("", &self.0))) }
    }
}

impl fmt::Display for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for MemberName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Formats a name for display: control characters escaped, cut to 120 characters.
pub fn shown(raw: &[u8]) -> Printable {
    Printable::escaped(&String::from_utf8_lossy(raw), SHOWN_CHARS)
}

/// Whether a format that reads a file named `link` also reads `target`, to which the link leads.
/// Formats select files by base name or by extension.
pub(crate) fn is_read_alike(link: &Path, target: &Path) -> bool {
    let same_extension = |(link, target): (&OsStr, &OsStr)| link.eq_ignore_ascii_case(target);
    link.file_name() == target.file_name() || link.extension().zip(target.extension()).is_some_and(same_extension)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(raw: &[u8]) -> Result<String, NameFault> {
        MemberName::parse(raw, &NameLimits::default()).map(|name| name.0)
    }

    #[test]
    fn harmless_spellings_are_one_name() {
        for raw in ["a/b", "./a/b", "a//b", "a/./b", "a/b/", "././a/b//"] {
            assert_eq!(parse(raw.as_bytes()).as_deref(), Ok("a/b"), "{raw}");
        }
        for raw in ["", ".", "./", "././"] {
            assert_eq!(parse(raw.as_bytes()).as_deref(), Ok(""), "{raw}");
        }
        // Similar names that are harmless: only whole components are special.
        assert_eq!(parse(b"..a/b../...").as_deref(), Ok("..a/b../..."));
        assert_eq!(parse(b"tmp/sonobuoy/results/master.xml").as_deref(), Ok("tmp/sonobuoy/results/master.xml"));
    }

    #[test]
    fn hostile_names_are_refused_by_reason() {
        let long = "d/".repeat(ARCHIVE_DEPTH + 1);
        for (raw, want) in [
            (b"/etc/passwd".as_slice(), NameFault::Absolute),
            (b"//x", NameFault::Absolute),
            (b"..", NameFault::Parent),
            (b"../x", NameFault::Parent),
            (b"a/../../b", NameFault::Parent),
            (b"a/..", NameFault::Parent),
            (b"a\0b", NameFault::Nul),
            (b"caf\xe9", NameFault::NotUtf8),
            (&[b'a'; 5000], NameFault::TooLong(ARCHIVE_PATH_BYTES)),
            (&[b'a'; 256], NameFault::ComponentTooLong),
            (long.as_bytes(), NameFault::TooDeep(ARCHIVE_DEPTH)),
        ] {
            assert_eq!(parse(raw), Err(want), "{}", shown(raw));
        }
    }

    #[test]
    fn a_link_stands_for_a_file_with_the_same_extension_or_name() {
        let alike = |link: &str, target: &str| is_read_alike(Path::new(link), Path::new(target));
        for (link, target) in [("latest.xml", "x/1.XML"), ("a", "x/a"), ("a.tar.gz", "b.gz")] {
            assert!(alike(link, target), "{link} -> {target}");
        }
        for (link, target) in [("junit.xml", "report.txt"), ("junit.xml", "report"), ("report", "a.xml"), ("a", "b")] {
            assert!(!alike(link, target), "{link} -> {target}");
        }
    }

    #[test]
    fn names_for_people_hold_no_control_characters() {
        assert_eq!(shown(b"a\x1b[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(shown(&[b'a'; 200]).len(), 123);
    }

    proptest! {
        #[test]
        fn accepted_names_stay_inside_the_directory(raw in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b'.'), any::<u8>()], 0..40)) {
            if let Ok(name) = MemberName::parse(&raw, &NameLimits::default()) {
                let path = Path::new(name.as_str());
                prop_assert!(path.components().all(|c| matches!(c, std::path::Component::Normal(_))));
                let again = MemberName::parse(name.as_str().as_bytes(), &NameLimits::default());
                prop_assert_eq!(again.as_ref(), Ok(&name));
                if let Some((dir, base)) = name.split() {
                    prop_assert!(!base.is_empty() && !base.contains('/'));
                    prop_assert_eq!(path.parent(), Some(Path::new(dir)));
                }
            }
        }
    }
}

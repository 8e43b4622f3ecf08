//! The parts of a submission that the rules check.

use std::collections::BTreeSet;

use super::cases::Cases;
use super::log::LogVersions;
use super::release::Release;
use super::required::Required;

/// A file of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Path relative to the parent of the version folders, with `/`: `v1.30/engine/README.md`.
    pub path: String,
    /// Size in bytes. For a symbolic link, it is the length of the target, because Git stores the
    /// target as the content.
    pub bytes: u64,
}

impl FoundFile {
    /// Returns the first of `files` with this name. Like the verifier, it ignores case.
    #[must_use]
    pub fn find<'a>(files: &'a [Self], name: &str) -> Option<&'a Self> {
        files.iter().find(|file| file.name().eq_ignore_ascii_case(name))
    }

    /// Returns the folder of the file. Empty at the top level.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the name of the file without its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }
}

/// The parts of a submission that the rules check.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// All files, sorted by path.
    pub files: &'a [FoundFile],
    /// Content of `PRODUCT.yaml`. `None` if it is missing.
    pub product: Option<&'a [u8]>,
    /// Versions in the log.
    pub log: &'a LogVersions,
    /// Results. `None` if they are missing.
    pub cases: Option<&'a Cases>,
    /// Required tests of the version. `None` if they are not known.
    pub required: Option<&'a Required>,
}

impl<'a> Contents<'a> {
    /// Returns the folders that contain files, sorted.
    pub(super) fn folders(&self) -> BTreeSet<&'a str> {
        self.files.iter().map(FoundFile::folder).collect()
    }

    /// Returns the version of the first file in a version folder.
    #[must_use]
    pub fn release(&self) -> Option<Release> {
        let first = self.files.iter().find_map(|file| version_in(file.folder()))?;
        first.parse().ok()
    }
}

/// Returns the version that the verifier finds in a folder. It searches `v1.[0-9]{2}/` anywhere,
/// where `.` is any character.
pub(super) fn version_in(folder: &str) -> Option<&str> {
    folder.match_indices("v1").find_map(|(at, _)| {
        let rest = folder.get(at..)?;
        let any = rest.chars().nth(2)?;
        let end = 4 + any.len_utf8();
        let digits = rest.get(2 + any.len_utf8()..end)?;
        let product = rest.get(end..)?.strip_prefix('/')?;
        (digits.bytes().all(|digit| digit.is_ascii_digit()) && !product.is_empty()).then(|| rest.get(..end))?
    })
}

/// Returns the version of a folder that is exactly `vX.YY/product`.
pub(super) fn release_of(folder: &str) -> Option<Release> {
    let (version, product) = folder.split_once('/')?;
    let digits = version.strip_prefix("v1.")?;
    let is_version = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
    (is_version && !product.is_empty() && !product.contains('/')).then(|| version.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_as_the_verifier_finds_them() {
        for (folder, version) in [
            ("v1.30/engine", Some("v1.30")),
            ("a/v1.30/engine/b", Some("v1.30")),
            ("v1v1.30/engine", Some("v1.30")),
            ("v1x30/engine", Some("v1x30")),
            ("v1é30/engine", Some("v1é30")),
            ("v1.3/engine", None),
            ("v1.300/engine", None),
            ("v1.30", None),
            ("", None),
        ] {
            assert_eq!(version_in(folder), version, "{folder}");
        }
    }
}

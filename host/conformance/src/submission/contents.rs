//! What is known of a submission, read by whoever can read files.

use std::collections::BTreeSet;

use super::cases::Cases;
use super::log::LogVersions;
use super::release::Release;
use super::required::Required;

/// A file of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path below the folder that the folders of versions stand in, with `/`: `v1.30/engine/README.md`.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

impl FoundFile {
    /// The folder that it stands in.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its name in there.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }
}

/// What is known of a submission.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// All its files.
    pub files: &'a [FoundFile],
    /// The text of its `PRODUCT.yaml`; `None` where it has none that is text.
    pub product: Option<&'a str>,
    /// What its log says of versions.
    pub log: &'a LogVersions,
    /// What is in its results; `None` where it has none.
    pub cases: Option<&'a Cases>,
    /// What is required of the version that it is for; `None` where that is not known.
    pub required: Option<&'a Required>,
}

impl<'a> Contents<'a> {
    /// The folders that files stand in, in order.
    pub(super) fn folders(&self) -> BTreeSet<&'a str> {
        self.files.iter().map(FoundFile::folder).collect()
    }

    /// The version that the first folder in order of names is for, if it is the folder of one.
    #[must_use]
    pub fn release(&self) -> Option<Release> {
        self.folders().into_iter().find_map(release_of)
    }
}

/// The version of a folder `vX.YY/product`: two digits, as in the verifier.
pub(super) fn release_of(folder: &str) -> Option<Release> {
    let (version, product) = folder.split_once('/')?;
    let digits = version.strip_prefix("v1.")?;
    let is_version = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
    (is_version && !product.is_empty() && !product.contains('/')).then(|| version.parse().ok()).flatten()
}

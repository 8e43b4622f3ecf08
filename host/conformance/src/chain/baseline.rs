//! Failures of an earlier run.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use plumbline_core::failures::CLASSNAME;
use plumbline_core::{Item, Status};
use sha2::{Digest, Sha256};

use super::error::ChainError;

/// Maximum number of failures in a baseline. If more tests fail, the run has another problem. The
/// definition that contains them must stay small.
pub const MAX_FAILURES: usize = 10_000;

/// Maximum total length of their names: 4 MiB, which is 400 bytes per name.
const MAX_NAMES: usize = 4 << 20;

/// Failures of an earlier run, with the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Names of tests.
    pub(super) failed: Vec<String>,
    /// The source, such as `202611201300.tar.gz (sha256 0123…)`.
    pub(super) source: String,
}

impl Baseline {
    /// Collects the leaves of `root` that failed or timed out. Names are without `[It] `, and with
    /// the class in parentheses if they have one. `archive` is the file or directory that the tree
    /// comes from. For a file, its digest becomes part of the source.
    ///
    /// # Errors
    /// When there are more than [`MAX_FAILURES`], the names are too long, or the archive is not
    /// readable.
    pub fn of_tree(root: &Item, archive: &Path) -> Result<Self, ChainError> {
        let leaves = root.walk().filter(|item| item.items.is_empty());
        let failed: BTreeSet<Cow<'_, str>> = leaves
            .filter(|item| matches!(item.status, Status::Failed | Status::Timeout))
            .map(|item| match item.meta.get(CLASSNAME) {
                Some(class) => Cow::Owned(format!("{} ({class})", plain(&item.name))),
                None => Cow::Borrowed(plain(&item.name)),
            })
            .collect();
        let name = archive
            .file_name()
            .map_or_else(|| archive.display().to_string(), |name| name.to_string_lossy().into_owned());
        if failed.len() > MAX_FAILURES {
            return Err(ChainError::TooManyFailures { archive: name, count: failed.len(), max: MAX_FAILURES });
        }
        if failed.iter().map(|name| name.len()).sum::<usize>() > MAX_NAMES {
            return Err(ChainError::TooLongNames { archive: name, max: MAX_NAMES });
        }
        let failed = failed.into_iter().map(Cow::into_owned).collect();
        let source = match archive.is_dir() {
            true => name,
            false => {
                let digest = sha256(archive).map_err(|source| ChainError::Read { path: archive.to_owned(), source })?;
                format!("{name} (sha256 {digest})")
            }
        };
        Ok(Self { failed, source })
    }

    /// Returns the number of failed tests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.failed.len()
    }

    /// Returns whether no test failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }
}

fn sha256(path: &Path) -> io::Result<String> {
    use std::fmt::Write as _;
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Normalizes a name as judges do: without a leading `[It] ` and surrounding whitespace.
fn plain(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("[It] ").map_or(name, str::trim_start)
}

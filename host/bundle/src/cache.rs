//! Bundles of single runs, unpacked: one directory for each digest, so that a run needs no installation, and the next one no unpacking.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::dirs;
use crate::error::BundleError;
use crate::unpack::{Access, unpack_as};
use crate::unpack_error::UnpackError;

/// Bundles that are kept whatever their age.
const KEPT: usize = 32;

/// How long a bundle is kept after its last use, whatever their number: a run that began with it may still need its files.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// Why a bundle is not in the cache.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// There is no place for it.
    #[error("there is no directory to unpack bundles to: neither `XDG_CACHE_HOME` nor `HOME` is an absolute path")]
    NoHome,
    /// The directory cannot be used.
    #[error("failed to use `{}`: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The tar cannot be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// What was unpacked is no bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// A directory of unpacked bundles. It can be removed at any time when no run is under way.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// That of the user: `$XDG_CACHE_HOME/plumbline/bundles`, or `~/.cache/plumbline/bundles`.
    ///
    /// # Errors
    /// [`CacheError::NoHome`].
    pub fn user() -> Result<Self, CacheError> {
        let cache = dirs::xdg("XDG_CACHE_HOME", ".cache").ok_or(CacheError::NoHome)?;
        Ok(Self::at(cache.join("plumbline/bundles")))
    }

    /// Where the user's downloads are kept before they are unpacked: `$XDG_CACHE_HOME/plumbline/downloads`, or
    /// `~/.cache/plumbline/downloads`. `None` without a home.
    #[must_use]
    pub fn downloads() -> Option<PathBuf> {
        Some(dirs::xdg("XDG_CACHE_HOME", ".cache")?.join("plumbline/downloads"))
    }

    /// The one in `dir`.
    #[must_use]
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The bundle in `tar`, unpacked. One that is there already is used if it still has this digest, and replaced otherwise.
    ///
    /// # Errors
    /// [`CacheError`].
    pub fn unpacked(&self, mut tar: impl Read + Seek) -> Result<Bundle, CacheError> {
        let digest = Digest::of_reader(&mut tar).map_err(UnpackError::Source)?;
        let dir = self.dir.join(digest.hex());
        if let Some(bundle) = sound(&dir, &digest) {
            return Ok(bundle);
        }
        let failed = |source| CacheError::Io { path: self.dir.clone(), source };
        fs::create_dir_all(&self.dir).map_err(failed)?;
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        tar.rewind().map_err(UnpackError::Source)?;
        let unpacked = unpack_as(tar, &dir, Some(&digest), Access::ReadOnly);
        match (unpacked, sound(&dir, &digest)) {
            // Another process was faster.
            (Ok(_) | Err(UnpackError::Exists(_) | UnpackError::Write { .. }), Some(bundle)) => {
                self.prune();
                Ok(bundle)
            }
            (Err(error), _) => Err(error.into()),
            // It was unpacked, but is no bundle: a module in it is none.
            (Ok(_), None) => Bundle::open(&dir).map_err(CacheError::from),
        }
    }

    /// Removes the oldest. What cannot be removed stays: this is housekeeping, and no reason to stop a run.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let aged = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
        let mut found: Vec<_> = entries.filter_map(|entry| aged(entry.ok()?)).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        let now = SystemTime::now();
        for (used, path) in found.into_iter().skip(KEPT) {
            if now.duration_since(used).is_ok_and(|age| age > KEPT_FOR) {
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

/// The bundle in `dir`, if it is there and has this digest.
fn sound(dir: &Path, digest: &Digest) -> Option<Bundle> {
    let bundle = Bundle::open(dir).ok().filter(|bundle| bundle.digest() == *digest)?;
    // Its last use; without it, it is removed earlier.
    let _ = File::open(dir).and_then(|dir| dir.set_modified(SystemTime::now()));
    Some(bundle)
}

//! Cache of unpacked bundles for runs, with one directory per digest. A run needs no installation,
//! and later runs need no unpacking.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::bundle::Bundle;
use crate::error::{BundleError, UnpackError};
use crate::unpack::{Access, unpack_as};
use plumbline_core::Digest;

/// Number of bundles to keep regardless of their age.
const KEPT: usize = 32;

/// How long to keep a bundle after its last use, regardless of the number of bundles. A run that
/// started with it may still need its files.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// Error while looking up or unpacking a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The user has no cache directory.
    #[error("no directory to unpack bundles to: neither `XDG_CACHE_HOME` nor `HOME` is an absolute path")]
    NoHome,
    /// A file or directory in the cache is not accessible.
    #[error("failed to use `{}`: {source}", path.display())]
    Io {
        /// The cache directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The tar was not unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The unpacked files are not a valid bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// A directory of unpacked bundles. You can delete it whenever no run is in progress.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Returns the user's cache: `$XDG_CACHE_HOME/plumbline/bundles`, or
    /// `~/.cache/plumbline/bundles`.
    pub fn user() -> Result<Self, CacheError> {
        let cache = user_dir("XDG_CACHE_HOME", ".cache").ok_or(CacheError::NoHome)?;
        Ok(Self::at(cache.join("plumbline/bundles")))
    }

    /// Returns the directory that holds the user's downloads before they are unpacked:
    /// `$XDG_CACHE_HOME/plumbline/downloads`, or `~/.cache/plumbline/downloads`. `None` if the user
    /// has no home directory.
    pub fn downloads() -> Option<PathBuf> {
        Some(user_dir("XDG_CACHE_HOME", ".cache")?.join("plumbline/downloads"))
    }

    /// Returns the cache in `dir`.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Returns the bundle in `tar`, unpacked. A copy in the cache is reused if its digest is still
    /// correct, and replaced otherwise.
    pub fn unpacked(&self, mut tar: impl Read + Seek) -> Result<Bundle, CacheError> {
        let digest = Digest::of_reader(&mut tar).map_err(UnpackError::Source)?;
        let dir = self.dir.join(digest.hex());
        if let Some(bundle) = sound(&dir, &digest) {
            return Ok(bundle);
        }
        let failed = |source| CacheError::Io { path: self.dir.clone(), source };
        fs::create_dir_all(&self.dir).map_err(failed)?;
        if fs::symlink_metadata(&dir).is_ok() {
            // Another process may have unpacked the bundle meanwhile, and uses these files.
            if let Some(bundle) = sound(&dir, &digest) {
                return Ok(bundle);
            }
            match fs::remove_dir_all(&dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        tar.rewind().map_err(UnpackError::Source)?;
        let unpacked = unpack_as(tar, &dir, Some(&digest), Access::ReadOnly);
        match (unpacked, sound(&dir, &digest)) {
            // Another process unpacked the bundle first.
            (Ok(_) | Err(UnpackError::Exists(_) | UnpackError::Write { .. }), Some(bundle)) => {
                self.prune();
                Ok(bundle)
            }
            (Err(error), _) => Err(error.into()),
            // The tar was unpacked, but the result is not a valid bundle: one of its modules is not
            // a component.
            (Ok(_), None) => Bundle::open(&dir).map_err(CacheError::from),
        }
    }

    /// Removes the bundles that have been unused the longest. A failure to remove one is ignored,
    /// because it must not stop a run.
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

/// Returns the bundle in `dir`, if it exists and has this digest.
fn sound(dir: &Path, digest: &Digest) -> Option<Bundle> {
    let bundle = Bundle::open(dir).ok().filter(|bundle| bundle.digest() == *digest)?;
    // Records the last use. If that fails, the bundle is only removed earlier.
    let _ = File::open(dir).and_then(|dir| dir.set_modified(SystemTime::now()));
    Some(bundle)
}

/// Returns `$VARIABLE`, or `fallback` below the home directory. The XDG Base Directory
/// Specification says to ignore relative paths in these variables. `None` if the user has no home
/// directory.
pub fn user_dir(variable: &str, fallback: &str) -> Option<PathBuf> {
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(fallback)))
}

pub(crate) fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

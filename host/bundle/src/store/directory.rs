//! The directory of installed bundles, with one subdirectory per plugin name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_archive::atomic::write_atomic;
use plumbline_core::PluginName;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::error::StoreError;
use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::dirs;
use crate::limits::MAX_SIGNATURE_BYTES;
use crate::unpack::{Access, TEMPORARY_PREFIX, sync_directory, unpack_as};

/// Subdirectory with the bundle's files.
const BUNDLE: &str = "bundle";
/// File with the installation record.
const RECORD: &str = "install.json";
/// File with the signatures of the bundle.
const SIGNATURES: &str = "signatures.json";
/// Number of attempts to read a bundle that seems damaged. A reader can see files disappear while
/// the bundle is being replaced.
const LOOKS: u32 = 3;
/// Maximum size of a record, in bytes. A record has about 300.
const MAX_RECORD_BYTES: u64 = 64 << 10;

/// The directory of installed bundles: `NAME/bundle/` (read-only), `NAME/install.json`,
/// `NAME/signatures.json`.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    reserved: Vec<String>,
}

/// An installed bundle with a verified digest.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The bundle.
    pub bundle: Bundle,
    /// Record of the installation.
    pub record: InstallRecord,
    /// Signatures of the bundle, unverified.
    pub signatures: Option<Vec<u8>>,
}

/// An entry of the directory.
#[derive(Debug)]
pub struct Entry {
    /// Name of the entry.
    pub name: String,
    /// The bundle, or the reason why it is not usable.
    pub state: Result<Installed, StoreError>,
}

impl Store {
    /// Returns the user's store: `$XDG_DATA_HOME/plumbline/bundles`, or
    /// `~/.local/share/plumbline/bundles`.
    ///
    /// # Errors
    /// [`StoreError::NoHome`].
    pub fn user() -> Result<Self, StoreError> {
        let data = dirs::xdg("XDG_DATA_HOME", ".local/share").ok_or(StoreError::NoHome)?;
        Ok(Self::at(data.join("plumbline/bundles")))
    }

    /// Returns the store in `dir`, which is created by the first installation.
    #[must_use]
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, reserved: Vec::new() }
    }

    /// Reserves `names`, so that no bundle is installed under them. These names already resolve to
    /// something else.
    #[must_use]
    pub fn reserving<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.reserved.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Returns the directory of the store.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Installs the bundle at `path`, a directory or a tar, under its plugin's name. It atomically
    /// replaces an installed bundle of the same name, so readers find either the old or the new
    /// one.
    ///
    /// # Errors
    /// [`StoreError`]. The previous installation is then unchanged.
    pub fn install(&self, path: &Path, origin: Origin) -> Result<Installed, StoreError> {
        if origin.signatures.as_ref().is_some_and(|signatures| signatures.len() as u64 > MAX_SIGNATURE_BYTES) {
            return Err(StoreError::Signatures);
        }
        let (_guard, staging) = self.begin()?;
        // Use a subdirectory, so that the replaced bundle, which is swapped into it, is removed
        // with `staging`.
        let new = staging.path().join("new");
        fs::create_dir(&new).map_err(|source| failed(&new, source))?;
        let (bundle, digest) = stage(path, &staging.path().join("tar"), &new.join(BUNDLE))?;
        let name = bundle.definition.name.as_str();
        if self.reserved.iter().any(|reserved| reserved == name) {
            return Err(StoreError::Reserved(name.to_owned()));
        }
        let Origin { source, version, signatures } = origin;
        let record = InstallRecord { source, digest, when: Timestamp::now(), version };
        let json = serde_json::to_vec_pretty(&record).map_err(|error| failed(&new, error.into()))?;
        let files = [(RECORD, Some(json)), (SIGNATURES, signatures)];
        for (file, content) in files.iter().filter_map(|(file, content)| Some((*file, content.as_deref()?))) {
            let path = new.join(file);
            write_atomic(&path, content).map_err(|source| failed(&path, source))?;
        }
        sync_directory(&new).map_err(|source| failed(&new, source))?;
        let place = self.dir.join(name);
        put(&new, &place).and_then(|()| sync_directory(&self.dir)).map_err(|source| failed(&place, source))?;
        self.open(name)
    }

    /// Removes an installed bundle, valid or damaged.
    ///
    /// # Errors
    /// [`StoreError`], also when no such bundle is installed.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let place = self.place(name)?;
        if fs::symlink_metadata(&place).is_err() {
            return Err(StoreError::NotInstalled(name.to_owned()));
        }
        let (_guard, staging) = self.begin()?;
        // Move it away first, so that nobody sees a partly removed bundle.
        match fs::rename(&place, staging.path().join("old")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotInstalled(name.to_owned())),
            renamed => renamed.and_then(|()| staging.close()).map_err(|source| failed(&place, source)),
        }
    }

    /// Returns all entries, sorted by name. A damaged bundle is included with the reason.
    ///
    /// # Errors
    /// [`StoreError`] when the directory exists but is not readable.
    pub fn list(&self) -> Result<Vec<Entry>, StoreError> {
        let mut names = Vec::new();
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(&self.dir, source)),
        };
        for entry in entries {
            let entry = entry.map_err(|source| failed(&self.dir, source))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Skip the lock file and directories of installations in progress.
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names.into_iter().map(|name| Entry { state: self.look(&name), name }).collect())
    }

    /// Returns the installed bundle named `name`, if there is one. It reads all files and compares
    /// their digest with the recorded one (about 50 ms for 20 MiB).
    ///
    /// # Errors
    /// [`StoreError`] when the bundle is damaged or was changed.
    pub fn find(&self, name: &str) -> Result<Option<Installed>, StoreError> {
        match self.place(name) {
            Ok(place) if fs::symlink_metadata(&place).is_ok() => self.look(name).map(Some),
            _ => Ok(None),
        }
    }

    /// Locks the store and creates a hidden staging directory.
    fn begin(&self) -> Result<(Guard, TempDir), StoreError> {
        let guard = Guard::take(&self.dir)?;
        // The store is locked, so existing staging directories belong to processes that were
        // killed. It is harmless if one cannot be removed.
        for left in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if left.file_name().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()) {
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let staging = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(&self.dir);
        Ok((guard, staging.map_err(|source| failed(&self.dir, source))?))
    }

    fn place(&self, name: &str) -> Result<PathBuf, StoreError> {
        // The name of a plugin has no slash and no leading dot, so the path stays in the directory.
        let name: PluginName = name.parse().map_err(|_| StoreError::Name(name.chars().take(100).collect()))?;
        Ok(self.dir.join(name.as_str()))
    }

    fn look(&self, name: &str) -> Result<Installed, StoreError> {
        let mut looks = 1;
        loop {
            match self.open(name) {
                Err(_) if looks < LOOKS => looks += 1,
                state => return state,
            }
        }
    }

    fn open(&self, name: &str) -> Result<Installed, StoreError> {
        let damaged = |why: String| StoreError::Damaged { name: name.to_owned(), why };
        let place = self.place(name).map_err(|error| damaged(error.to_string()))?;
        let record = bounded(&place.join(RECORD), MAX_RECORD_BYTES)
            .map_err(|error| damaged(format!("failed to read `{RECORD}`: {error}")))?;
        let record: InstallRecord =
            serde_json::from_slice(&record).map_err(|error| damaged(format!("`{RECORD}` is malformed: {error}")))?;
        let signatures = match bounded(&place.join(SIGNATURES), MAX_SIGNATURE_BYTES) {
            Ok(signatures) => Some(signatures),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(damaged(format!("failed to read `{SIGNATURES}`: {error}"))),
        };
        let bundle = Bundle::open(place.join(BUNDLE)).map_err(|error| damaged(error.to_string()))?;
        if bundle.digest() != record.digest {
            let (installed, actual) = (record.digest, bundle.digest());
            return Err(StoreError::Changed { name: name.to_owned(), installed, actual });
        }
        if bundle.name() != name {
            return Err(damaged(format!("its definition calls it `{}`", bundle.name())));
        }
        Ok(Installed { bundle, record, signatures })
    }
}

/// Unpacks the bundle at `path` to `into`. A directory is packed to `tar` first, so that both ways
/// produce the same files.
fn stage(path: &Path, tar: &Path, into: &Path) -> Result<(Bundle, Digest), StoreError> {
    let mut file = if path.is_dir() {
        let bundle = Bundle::open(path)?;
        let create = File::options().read(true).write(true).create_new(true).open(tar);
        let mut file = create.map_err(|source| failed(tar, source))?;
        bundle.pack(io::BufWriter::new(&mut file))?;
        file
    } else {
        File::open(path).map_err(|source| failed(path, source))?
    };
    file.rewind().map_err(|source| failed(path, source))?;
    let digest = unpack_as(io::BufReader::new(file), into, None, Access::ReadOnly)?;
    Ok((Bundle::open(into)?, digest))
}

/// Reads a file of at most `max` bytes.
fn bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max} bytes")));
    }
    Ok(content)
}

fn failed(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), source }
}

/// The lock file. It is never removed, because then two processes could hold the lock at the same
/// time.
const FILE: &str = ".lock";

/// How long to wait for another process. An installation takes a second, so after a minute the
/// other process probably hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval between attempts to take the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// An exclusive lock on the directory. The system releases it when the process ends in any way.
pub(super) struct Guard {
    _file: File,
}

impl Guard {
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        let begin = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begin.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(StoreError::Busy(dir.to_owned())),
                Err(error) => return Err(failed(error.into())),
            }
        }
    }
}

/// Origin of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The source that the user requested: a path, a URL, or a reference.
    pub source: String,
    /// Version of the bundle at its source, such as a tag.
    pub version: Option<String>,
    /// Signatures of the bundle: DSSE envelopes, as JSON. They are stored with the bundle, and the
    /// store does not verify them.
    pub signatures: Option<Vec<u8>>,
}

/// `install.json` of an installed bundle. To stay compatible, new versions only add keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InstallRecord {
    /// The source that the user requested.
    pub source: String,
    /// Digest of the bundle.
    pub digest: Digest,
    /// Time of the installation.
    pub when: Timestamp,
    /// Version of the bundle at its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Moves `new` to `place`. If `place` existed, its old content is at `new` afterwards, and the
/// caller must remove it.
///
/// If the system supports it, the two are exchanged atomically, so that readers always find one of
/// them.
pub(super) fn put(new: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(new, place);
    }
    match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Some file systems do not support the exchange. Then `place` does not exist for a moment.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let aside = new.with_extension("old");
            fs::rename(place, &aside)?;
            match fs::rename(new, place) {
                Ok(()) => fs::rename(&aside, new),
                Err(error) => fs::rename(&aside, place).and(Err(error)),
            }
        }
        Err(error) => Err(error.into()),
    }
}

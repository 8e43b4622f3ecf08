//! The directory of installed bundles, with one subdirectory per plugin name.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_archive::atomic::{TEMPORARY_PREFIX, write_atomic};
use plumbline_archive::disk::Disk;
use plumbline_core::PluginName;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::bundle::Bundle;
use crate::cache::user_dir;
use crate::error::{BundleError, UnpackError};
use crate::limits::MAX_SIGNATURE_BYTES;
use crate::unpack::{Access, unpack_as};
use plumbline_core::Digest;

/// Subdirectory with the bundle's files.
const BUNDLE: &str = "bundle";
/// File with the installation record.
const RECORD: &str = "install.json";
/// File with the signatures of the bundle.
const SIGNATURES: &str = "signatures.json";
/// The lock file. It is never removed, because then two processes could hold the lock at the same
/// time.
const LOCK: &str = ".lock";
/// How long to wait for another process. An installation takes a second, so after a minute the
/// other process probably hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between attempts to take the lock.
const PAUSE: Duration = Duration::from_millis(20);
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
    pub fn user() -> Result<Self, StoreError> {
        let data = user_dir("XDG_DATA_HOME", ".local/share").ok_or(StoreError::NoHome)?;
        Ok(Self::at(data.join("plumbline/bundles")))
    }

    /// Returns the store in `dir`, which is created by the first installation.
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
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Installs the bundle at `path`, a directory or a tar, under its plugin's name. It atomically
    /// replaces an installed bundle of the same name, so readers find either the old or the new
    /// one.
    pub fn install(&self, path: &Path, origin: Origin) -> Result<Installed, StoreError> {
        if origin.signatures.as_ref().is_some_and(|signatures| signatures.len() as u64 > MAX_SIGNATURE_BYTES) {
            return Err(StoreError::Signatures);
        }
        let (_lock, staging) = self.begin()?;
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
        Disk::default().sync_directory(&new).map_err(|source| failed(&new, source))?;
        let place = self.dir.join(name);
        put(&new, &place)
            .and_then(|()| Disk::default().sync_directory(&self.dir))
            .map_err(|source| failed(&place, source))?;
        self.open(name)
    }

    /// Removes an installed bundle, valid or damaged.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let place = self.place(name)?;
        if fs::symlink_metadata(&place).is_err() {
            return Err(StoreError::NotInstalled(name.to_owned()));
        }
        let (_lock, staging) = self.begin()?;
        // Move it away first, so that nobody sees a partly removed bundle.
        match fs::rename(&place, staging.path().join("old")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotInstalled(name.to_owned())),
            renamed => renamed.and_then(|()| staging.close()).map_err(|source| failed(&place, source)),
        }
    }

    /// Returns all entries, sorted by name. A damaged bundle is included with the reason.
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
    pub fn find(&self, name: &str) -> Result<Option<Installed>, StoreError> {
        match self.place(name) {
            Ok(place) if fs::symlink_metadata(&place).is_ok() => self.look(name).map(Some),
            _ => Ok(None),
        }
    }

    /// Locks the store and creates a hidden staging directory.
    fn begin(&self) -> Result<(File, TempDir), StoreError> {
        let lock = lock(&self.dir)?;
        // The store is locked, so existing staging directories belong to processes that were
        // killed. It is harmless if one cannot be removed.
        for left in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if left.file_name().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()) {
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let staging = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(&self.dir);
        Ok((lock, staging.map_err(|source| failed(&self.dir, source))?))
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
            return Err(damaged(format!("its definition has the name `{}`", bundle.name())));
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

/// Takes an exclusive lock on the store in `dir`. The system releases it when the file is closed, or
/// the process ends in any way.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    fs::create_dir_all(dir).map_err(|source| failed(&path, source))?;
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|source| failed(&path, source))?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(dir.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
        }
    }
}

/// Moves `new` to `place`. If `place` existed, its old content is at `new` afterwards, and the
/// caller must remove it.
///
/// If the system supports it, the two are exchanged atomically, so that readers always find one of
/// them.
fn put(new: &Path, place: &Path) -> io::Result<()> {
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

/// Error while installing, listing, or removing bundles.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The user has no data directory.
    #[error("no directory for installed bundles: neither `XDG_DATA_HOME` nor `HOME` is an absolute path")]
    NoHome,
    /// A file or directory is not accessible.
    #[error("failed to use `{}`: {source}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error("timed out waiting for another process that installs or removes bundles in `{}`", .0.display())]
    Busy(PathBuf),
    /// The name is reserved for a built-in plugin.
    #[error("name `{0}` is taken by a built-in plugin")]
    Reserved(String),
    /// No bundle of this name is installed.
    #[error("bundle `{0}` is not installed")]
    NotInstalled(String),
    /// The string is not a valid plugin name.
    #[error("invalid plugin name `{0}`")]
    Name(String),
    /// The source is not a valid bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The tar was not unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The signatures are too large.
    #[error("the signatures have more than {MAX_SIGNATURE_BYTES} bytes")]
    Signatures,
    /// The installed bundle is not usable.
    #[error("the installed bundle `{name}` is damaged: {why}")]
    Damaged {
        /// Name of the plugin.
        name: String,
        /// What is wrong with the bundle.
        why: String,
    },
    /// The files of the installed bundle changed after the installation.
    #[error("the installed bundle `{name}` was changed: it has {actual}, expected {installed}")]
    Changed {
        /// Name of the plugin.
        name: String,
        /// Digest at installation.
        installed: Digest,
        /// Current digest.
        actual: Digest,
    },
}

impl StoreError {
    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Reserved(_) => {
                Some("give it another `plugin-name`, or run it from its directory or tar: `-p ./DIR`, `-p ./FILE.bundle.tar`".to_owned())
            }
            Self::NotInstalled(_) => Some("list installed bundles with `plumbline plugin list`".to_owned()),
            Self::Damaged { name, .. } | Self::Changed { name, .. } => Some(format!(
                "install it again: `plumbline plugin install REF`, or remove it: `plumbline plugin uninstall {name}`"
            )),
            Self::Name(_) => Some("use lower-case letters, digits, `-` and `.`".to_owned()),
            Self::Signatures => Some("remove signatures that no policy needs".to_owned()),
            Self::Busy(_) => Some("find the process with `ps`, and try again when it has ended".to_owned()),
            Self::Bundle(error) => error.hint().map(str::to_owned),
            Self::Unpack(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }

    /// Returns whether the cause is this machine, not the input.
    pub fn is_systems(&self) -> bool {
        match self {
            Self::NoHome | Self::Io { .. } | Self::Busy(_) | Self::Damaged { .. } | Self::Changed { .. } => true,
            Self::Bundle(error) => error.is_systems(),
            Self::Unpack(error) => error.is_systems(),
            _ => false,
        }
    }
}

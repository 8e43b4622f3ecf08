//! The directory of installed bundles: one directory for each, by the plugin's name.

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

/// The bundle itself, below the plugin's name.
const BUNDLE: &str = "bundle";
/// What is known of the installation.
const RECORD: &str = "install.json";
/// The signatures that came with it.
const SIGNATURES: &str = "signatures.json";
/// How often a bundle is looked at that seems to be damaged: whoever stands in one that is replaced at this moment sees it go.
const LOOKS: u32 = 3;
/// Bytes of a record. One has about 300.
const MAX_RECORD_BYTES: u64 = 64 << 10;

/// Installed bundles: `NAME/bundle/` (read-only), `NAME/install.json`, `NAME/signatures.json`.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    reserved: Vec<String>,
}

/// An installed bundle, whose digest was verified.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The bundle.
    pub bundle: Bundle,
    /// How it came here.
    pub record: InstallRecord,
    /// Its signatures, as they came.
    pub signatures: Option<Vec<u8>>,
}

/// What stands under a name.
#[derive(Debug)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The bundle, or why it cannot be used.
    pub state: Result<Installed, StoreError>,
}

impl Store {
    /// That of the user: `$XDG_DATA_HOME/plumbline/bundles`, or `~/.local/share/plumbline/bundles`.
    ///
    /// # Errors
    /// [`StoreError::NoHome`].
    pub fn user() -> Result<Self, StoreError> {
        let data = dirs::xdg("XDG_DATA_HOME", ".local/share").ok_or(StoreError::NoHome)?;
        Ok(Self::at(data.join("plumbline/bundles")))
    }

    /// The one in `dir`, which is made when something is installed.
    #[must_use]
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, reserved: Vec::new() }
    }

    /// The same, which installs nothing under these names: whoever asks for one of them gets something else.
    #[must_use]
    pub fn reserving<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.reserved.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Its directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Installs the bundle at `path`, a directory or a tar, under its plugin's name. One that is installed under this name is replaced at
    /// once: whoever looks finds the old one or the new.
    ///
    /// # Errors
    /// [`StoreError`]; what was installed before is untouched then.
    pub fn install(&self, path: &Path, origin: Origin) -> Result<Installed, StoreError> {
        if origin.signatures.as_ref().is_some_and(|signatures| signatures.len() as u64 > MAX_SIGNATURE_BYTES) {
            return Err(StoreError::Signatures);
        }
        let (_guard, staging) = self.begin()?;
        // One level deeper, so that what is put aside when it changes places is removed with it.
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

    /// Removes an installed bundle, sound or damaged.
    ///
    /// # Errors
    /// [`StoreError`], also when there is none.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let place = self.place(name)?;
        if fs::symlink_metadata(&place).is_err() {
            return Err(StoreError::NotInstalled(name.to_owned()));
        }
        let (_guard, staging) = self.begin()?;
        // Out of sight first: half a bundle is never seen.
        match fs::rename(&place, staging.path().join("old")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotInstalled(name.to_owned())),
            renamed => renamed.and_then(|()| staging.close()).map_err(|source| failed(&place, source)),
        }
    }

    /// Everything that is installed, sorted by name. What is damaged is among it, with the reason.
    ///
    /// # Errors
    /// [`StoreError`] when the directory is there and cannot be read.
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
            // The lock, and what is under way.
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names.into_iter().map(|name| Entry { state: self.look(&name), name }).collect())
    }

    /// The installed bundle of this name, if there is one. Its files are read and compared with the digest of what was installed (about
    /// 50 ms for 20 MiB).
    ///
    /// # Errors
    /// [`StoreError`] when it is damaged or was changed.
    pub fn find(&self, name: &str) -> Result<Option<Installed>, StoreError> {
        match self.place(name) {
            Ok(place) if fs::symlink_metadata(&place).is_ok() => self.look(name).map(Some),
            _ => Ok(None),
        }
    }

    /// The right to change something, and a place to do it out of sight.
    fn begin(&self) -> Result<(Guard, TempDir), StoreError> {
        let guard = Guard::take(&self.dir)?;
        // Nobody else is at work: what is there was left by a process that was killed. What cannot be removed stays, and does no harm.
        for left in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if left.file_name().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()) {
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let staging = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(&self.dir);
        Ok((guard, staging.map_err(|source| failed(&self.dir, source))?))
    }

    fn place(&self, name: &str) -> Result<PathBuf, StoreError> {
        // A plugin's name leads nowhere else: it holds no slash and does not begin with a dot.
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
        let record: InstallRecord = serde_json::from_slice(&record)
            .map_err(|error| damaged(format!("`{RECORD}` cannot be understood: {error}")))?;
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

/// Unpacks what is at `path` to `into`: a directory is packed to `tar` first, so that both ways end in the same.
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

/// What is in a file of at most `max` bytes.
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

/// The file that is locked. It stays: removing it would let two processes hold two locks.
const FILE: &str = ".lock";

/// How long another process is waited for. Installing takes a second; a minute is somebody who hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked.
const PAUSE: Duration = Duration::from_millis(20);

/// The right to change the directory. The system takes it back when the process ends, however it ends.
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

/// Where a bundle comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// What was asked for: a path, an address, a reference.
    pub source: String,
    /// What the source calls this version, such as a tag.
    pub version: Option<String>,
    /// Its signatures as they came: DSSE envelopes, as JSON. They are kept beside the bundle, and not looked at here.
    pub signatures: Option<Vec<u8>>,
}

/// `install.json` of an installed bundle. Keys are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InstallRecord {
    /// What was asked for.
    pub source: String,
    /// The digest of the bundle.
    pub digest: Digest,
    /// When it was installed.
    pub when: Timestamp,
    /// What the source calls this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Puts `new` into the place `place`. What was there is at `new` afterwards, for the caller to remove.
///
/// Where the system can, the two change places at once, so that a reader finds one of them at any time.
pub(super) fn put(new: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(new, place);
    }
    match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Some file systems cannot: then there is a moment without either.
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

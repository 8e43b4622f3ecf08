//! Files of attestations, stored next to the file that they are about.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::{AtomicFile, parent_directory};
use rustix::fs::OFlags;

use super::attestation::{Attestation, parse_attestations, readable_attestations, write_attestations};
use super::error::SigningError;
use super::key::with_suffix;
use crate::limits::{MAX_ENVELOPE_FILE, MAX_ENVELOPES};

/// Suffix of the file with the attestations of another file, after the name of that file.
pub const ATTESTATIONS_SUFFIX: &str = ".sigstore.json";
/// Suffix of the file in which older versions stored signatures. It is only read.
pub const OLD_SIGNATURES_SUFFIX: &str = ".dsse.json";

/// A file of attestations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureFile {
    path: PathBuf,
    /// The file of older versions, which is read too.
    old: Option<PathBuf>,
}

impl SignatureFile {
    /// Returns the file for `artifact`: `NAME.bundle.tar.sigstore.json` for `NAME.bundle.tar`. It
    /// also reads `NAME.bundle.tar.dsse.json`, which older versions wrote. The file of a directory
    /// is next to it, however its path is written ([`named_path`]).
    pub fn next_to(artifact: &Path) -> Self {
        let artifact = named_path(artifact);
        Self {
            path: with_suffix(&artifact, ATTESTATIONS_SUFFIX),
            old: Some(with_suffix(&artifact, OLD_SIGNATURES_SUFFIX)),
        }
    }

    /// Returns the file at `path`.
    pub fn at(path: PathBuf) -> Self {
        Self { path, old: None }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the attestations in the file. Returns an empty list if the file does not exist.
    pub fn read(&self) -> Result<Vec<Attestation>, SigningError> {
        let mut all = match &self.old {
            Some(old) => read(old)?,
            None => Vec::new(),
        };
        all.extend(read(&self.path)?);
        Ok(all)
    }

    /// Appends `attestation` and returns the new number of attestations in the file. A reader sees
    /// either the old file or the new one. Concurrent writers wait for each other. A file that is
    /// invalid or full stays unchanged.
    pub fn append(&self, attestation: Attestation) -> Result<usize, SigningError> {
        let _lock = self.lock()?;
        let mut attestations = read(&self.path)?;
        attestations.push(attestation);
        self.replace(&attestations)
    }

    /// Replaces the attestations in the file by `fetched`, and returns their new number. Others that are in it
    /// and are about the file with the digest `sha256` stay, because they may be nowhere else. What cannot be
    /// read in the file is dropped. Readers and writers are treated as by [`SignatureFile::append`].
    pub fn merge(&self, fetched: Vec<Attestation>, sha256: &[u8; 32]) -> Result<usize, SigningError> {
        let _lock = self.lock()?;
        let digest = hex::encode(sha256);
        let is_about_it = |one: &Attestation| {
            let subjects = one.unverified_statement().map(|statement| statement.subjects).unwrap_or_default();
            subjects.iter().any(|(_, other)| *other == digest)
        };
        let text = read_text(&self.path)?.unwrap_or_default();
        let (mut own, _) = readable_attestations(&text).unwrap_or_default();
        own.retain(|one| is_about_it(one) && !fetched.contains(one));
        // The newest one is the first.
        let all: Vec<Attestation> = fetched.into_iter().chain(own.into_iter().rev()).collect();
        self.replace(&all)
    }

    /// Locks the directory, because the file itself is about to be replaced.
    fn lock(&self) -> Result<File, SigningError> {
        let failed = SigningError::write("the signatures", &self.path);
        let lock = File::open(parent_directory(&self.path)).map_err(&failed)?;
        match lock.lock() {
            // Without locks in the file system, two concurrent writers can lose a signature.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(failed(error)),
            _ => Ok(lock),
        }
    }

    fn replace(&self, attestations: &[Attestation]) -> Result<usize, SigningError> {
        let text = write_attestations(attestations);
        if attestations.len() > MAX_ENVELOPES || text.len() > MAX_ENVELOPE_FILE {
            return Err(SigningError::Full(self.path.clone()));
        }
        let replace = || {
            let mut file = AtomicFile::create(&self.path)?.readable_by_all()?;
            file.write_all(text.as_bytes())?;
            file.commit()
        };
        replace().map_err(SigningError::write("the signatures", &self.path))?;
        Ok(attestations.len())
    }
}

/// Returns `path` with the name of the file or directory at its end: `sub` for `sub/` and `sub/.`,
/// and the absolute path for `.` and `..`.
pub fn named_path(path: &Path) -> PathBuf {
    match path.file_name() {
        Some(name) => path.with_file_name(name),
        None => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    }
}

fn read(path: &Path) -> Result<Vec<Attestation>, SigningError> {
    let Some(text) = read_text(path)? else { return Ok(Vec::new()) };
    parse_attestations(&text).map_err(|error| SigningError::Envelopes(path.to_owned(), error))
}

/// Reads at most one byte more than a file may have. Returns `None` if it does not exist.
fn read_text(path: &Path) -> Result<Option<Vec<u8>>, SigningError> {
    let mut text = Vec::new();
    match open(path).and_then(|file| file.take(MAX_ENVELOPE_FILE as u64 + 1).read_to_end(&mut text)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(|_| Some(text)).map_err(SigningError::read("the signatures", path)),
    }
}

/// Opens a regular file for reading. The call does not wait for the writer of a named pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {}, not a regular file", described(kind))))
}

fn described(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else {
        "a device"
    }
}

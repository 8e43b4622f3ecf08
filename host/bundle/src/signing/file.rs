//! Files of envelopes, stored next to the file that they are about.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;

use crate::signing::dsse::{Envelope, EnvelopeError, MAX_ENVELOPES, MAX_FILE, parse_envelopes, write_envelopes};

/// Suffix that is appended to the name of a tar.
const SUFFIX: &str = ".dsse.json";

/// A file of envelopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureFile(PathBuf);

/// Error while reading or writing a file of envelopes.
#[derive(Debug, thiserror::Error)]
pub enum SignatureFileError {
    /// The file is not readable.
    #[error("failed to read the signatures `{path}`")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The file does not contain valid envelopes.
    #[error("invalid signatures `{path}`")]
    Envelopes {
        /// Path of the file.
        path: PathBuf,
        /// The underlying error.
        source: EnvelopeError,
    },
    /// The file is full.
    #[error(
        "`{0}` is full: no reader takes more than {MAX_ENVELOPES} signatures or {MAX_FILE} bytes; move it away and sign again"
    )]
    Full(PathBuf),
    /// The file could not be written.
    #[error("failed to write the signatures `{path}`")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
}

impl SignatureFile {
    /// Returns the file for `artefact`: `NAME.bundle.tar.dsse.json` for `NAME.bundle.tar`.
    #[must_use]
    pub fn beside(artefact: &Path) -> Self {
        let mut name: OsString = artefact.as_os_str().to_owned();
        name.push(SUFFIX);
        Self(PathBuf::from(name))
    }

    /// Returns the file at `path`.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the envelopes in the file. Returns an empty list if the file does not exist.
    ///
    /// # Errors
    /// When the file is not readable, or does not contain valid envelopes.
    pub fn read(&self) -> Result<Vec<Envelope>, SignatureFileError> {
        let mut text = Vec::new();
        let read = File::open(&self.0).and_then(|file| file.take(MAX_FILE as u64 + 1).read_to_end(&mut text));
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(SignatureFileError::Read { path: self.0.clone(), source }),
        }
        parse_envelopes(&text).map_err(|source| SignatureFileError::Envelopes { path: self.0.clone(), source })
    }

    /// Appends `envelope` and returns the new number of envelopes. A reader sees either the old
    /// file or the new one. Concurrent writers wait for each other.
    ///
    /// # Errors
    /// When the existing file is invalid (it stays unchanged), is full, or cannot be replaced.
    pub fn append(&self, envelope: Envelope) -> Result<usize, SignatureFileError> {
        let failed = |source| SignatureFileError::Write { path: self.0.clone(), source };
        let dir = match self.0.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        // Lock the directory, because the file itself is about to be replaced.
        let lock = File::open(dir).map_err(failed)?;
        match lock.lock() {
            // Without locks in the file system, two concurrent writers can lose a signature.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(failed(error)),
            _ => {}
        }
        let mut envelopes = self.read()?;
        envelopes.push(envelope);
        let text = write_envelopes(&envelopes);
        if envelopes.len() > MAX_ENVELOPES || text.len() > MAX_FILE {
            return Err(SignatureFileError::Full(self.0.clone()));
        }
        replace(&self.0, text.as_bytes()).map_err(failed)?;
        Ok(envelopes.len())
    }
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?.readable_by_all()?;
    file.write_all(content)?;
    file.commit()
}

//! Envelopes beside the file that they are about.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;

use crate::signing::dsse::{Envelope, EnvelopeError, MAX_ENVELOPES, MAX_FILE, parse_envelopes, write_envelopes};

/// What is put behind the name of a tar.
const SUFFIX: &str = ".dsse.json";

/// A file of envelopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureFile(PathBuf);

/// Why a file of envelopes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SignatureFileError {
    /// It cannot be read.
    #[error("failed to read the signatures `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It holds something else.
    #[error("invalid signatures `{path}`")]
    Envelopes {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: EnvelopeError,
    },
    /// It is full.
    #[error(
        "`{0}` is full: no reader takes more than {MAX_ENVELOPES} signatures or {MAX_FILE} bytes; move it away and sign again"
    )]
    Full(PathBuf),
    /// It cannot be written.
    #[error("failed to write the signatures `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl SignatureFile {
    /// The file beside `artefact`: `NAME.bundle.tar.dsse.json` for `NAME.bundle.tar`.
    #[must_use]
    pub fn beside(artefact: &Path) -> Self {
        let mut name: OsString = artefact.as_os_str().to_owned();
        name.push(SUFFIX);
        Self(PathBuf::from(name))
    }

    /// The file at `path`.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The envelopes in it; none if there is no such file.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
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

    /// Adds `envelope` to what is there, and returns how many there are. A reader sees the old file or the new one; two who sign at once wait
    /// for each other.
    ///
    /// # Errors
    /// When what is there cannot be read (it stays as it is), is full, or cannot be replaced.
    pub fn append(&self, envelope: Envelope) -> Result<usize, SignatureFileError> {
        let failed = |source| SignatureFileError::Write { path: self.0.clone(), source };
        let dir = match self.0.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        // The directory is locked, not the file: that one is about to be another.
        let lock = File::open(dir).map_err(failed)?;
        match lock.lock() {
            // Where the file system knows no locks, two who sign at the same moment are one too many.
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

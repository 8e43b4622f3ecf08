//! Key files: `NAME.key`, which only its owner can read, and `NAME.pub`.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::KeyFileError;
use super::private::PrivateKey;
use super::public::PublicKey;

/// Bytes to read of a key file: one more than is accepted, to detect a file that is too long.
const MAX_READ: u64 = (64 << 10) + 1;
const PRIVATE_MODE: u32 = 0o600;
const PUBLIC_MODE: u32 = 0o644;

/// A key pair that was written to files.
#[derive(Debug)]
pub struct WrittenPair {
    /// Path of the private key, mode 0600.
    pub private: PathBuf,
    /// Path of the public key.
    pub public: PathBuf,
    /// The public key itself.
    pub key: PublicKey,
}

/// Generates a key pair and writes it to `NAME.key` and `NAME.pub`. With `force`, existing files
/// are replaced.
///
/// # Errors
/// When one of the files already exists (nothing is written then), or cannot be written.
pub fn write_pair(name: &Path, force: bool) -> Result<WrittenPair, KeyFileError> {
    let (private, public) = (with_suffix(name, ".key"), with_suffix(name, ".pub"));
    for path in [&private, &public] {
        if !force && path.symlink_metadata().is_ok() {
            return Err(KeyFileError::Exists(path.clone()));
        }
    }
    let (key, text) = PrivateKey::generate().map_err(KeyFileError::Generate)?;
    write(&private, text.as_bytes(), PRIVATE_MODE, force)?;
    if let Err(error) = write(&public, key.public().to_pem().as_bytes(), PUBLIC_MODE, force) {
        // Half a pair would only make the next attempt fail. The first error is the relevant one.
        let _ = fs::remove_file(&private);
        return Err(error);
    }
    Ok(WrittenPair { private, public, key: key.public().clone() })
}

/// Reads a private key.
///
/// # Errors
/// When the file is not readable, or does not contain a usable private key.
pub fn read_private(path: &Path) -> Result<PrivateKey, KeyFileError> {
    PrivateKey::from_pem(&read(path)?).map_err(|source| KeyFileError::Key { path: path.to_owned(), source })
}

/// Reads a public key.
///
/// # Errors
/// When the file is not readable, or does not contain a usable public key.
pub fn read_public(path: &Path) -> Result<PublicKey, KeyFileError> {
    PublicKey::from_pem(&read(path)?).map_err(|source| KeyFileError::Key { path: path.to_owned(), source })
}

/// Returns whether users other than the owner have any permission on the file. `false` if its
/// metadata is not readable.
#[must_use]
pub fn is_open_to_others(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 != 0)
}

fn read(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_READ).read_to_end(&mut bytes))
        .map_err(|source| KeyFileError::Read { path: path.to_owned(), source })?;
    Ok(bytes)
}

/// Writes a file without following a link or changing an existing file. It creates a new file at
/// `path`, or with `force` renames a new file to `path`.
fn write(path: &Path, content: &[u8], mode: u32, force: bool) -> Result<(), KeyFileError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists if !force => KeyFileError::Exists(path.to_owned()),
        _ => KeyFileError::Write { path: path.to_owned(), source },
    };
    let target = if force { with_suffix(path, &format!(".new-{}", std::process::id())) } else { path.to_owned() };
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&target).and_then(|mut file| {
        let done = file.write_all(content).and_then(|()| file.sync_all());
        let done = if force { done.and_then(|()| fs::rename(&target, path)) } else { done };
        if done.is_err() {
            // This call created the incomplete file.
            let _ = fs::remove_file(&target);
        }
        done
    });
    written.map_err(failed)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_written_once_and_replaced_only_by_force() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("release.2026");
        let first = write_pair(&name, false).unwrap();
        assert_eq!(first.private, dir.path().join("release.2026.key"));
        assert_eq!(first.private.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_private(&first.private).unwrap().public(), &read_public(&first.public).unwrap());
        assert!(!is_open_to_others(&first.private) && is_open_to_others(&first.public));

        let error = write_pair(&name, false).unwrap_err();
        assert!(matches!(&error, KeyFileError::Exists(path) if *path == first.private), "{error}");
        assert_eq!(read_public(&first.public).unwrap(), first.key);

        let second = write_pair(&name, true).unwrap();
        assert_ne!(second.key, first.key);
        assert_eq!(read_private(&second.private).unwrap().public(), &second.key);
        assert_eq!(second.private.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(dir.path().read_dir().unwrap().count(), 2);
    }

    #[test]
    fn an_old_public_key_keeps_a_new_private_one_from_being_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("k.pub"), "old").unwrap();
        assert!(matches!(write_pair(&dir.path().join("k"), false), Err(KeyFileError::Exists(_))));
        assert!(!dir.path().join("k.key").exists());
    }

    #[test]
    fn a_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, dir.path().join("k.key")).unwrap();
        assert!(matches!(write_pair(&dir.path().join("k"), false), Err(KeyFileError::Exists(_))));
        write_pair(&dir.path().join("k"), true).unwrap();
        assert!(!elsewhere.exists());
    }
}

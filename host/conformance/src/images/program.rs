//! Programs from images, in the user's cache. The program of the suite tells what the suite needs.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use plumbline_core::DigestWriter;
use plumbline_registry::{Client, Digest, Image, Platform, Reference, RegistryError, Storage};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// Path of the suite's program in its image.
pub const SUITE_PROGRAM: &str = "usr/local/bin/e2e.test";
/// Subdirectory of the cache.
const DIRECTORY: &str = "programs";
/// Maximum size of the record next to a program. A record is a single line.
const MAX_RECORD_BYTES: u64 = 64 << 10;

/// A program that was extracted from an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Path of the file.
    pub path: PathBuf,
    /// Digest of the image's manifest. For a multi-platform image, that of the selected platform.
    pub manifest: Digest,
    /// Whether the program was already in the cache.
    pub cached: bool,
}

/// Error while extracting a program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The image or the file in it is not available.
    #[error(transparent)]
    Image(#[from] RegistryError),
    /// The cache is not readable or writable.
    #[error("keep the program `{}`: {error}", path.display())]
    Cache {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        error: io::Error,
    },
    /// Images have programs for Linux only, so this machine cannot run them.
    #[error("this machine ({0}) runs no programs of images, which are for Linux")]
    Machine(String),
}

/// Record next to a program in the cache.
#[derive(Serialize, Deserialize)]
struct Record {
    /// Digest of the program, so that a damaged file is not executed.
    digest: Digest,
    /// Path in the image.
    path: String,
}

/// Returns the platform of programs that this machine can run.
///
/// # Errors
///
/// Images do not have programs for this machine.
pub fn local_platform() -> Result<Platform, ProgramError> {
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let machine = || ProgramError::Machine(format!("{os}/{architecture}"));
    // Translate to Go's names.
    let architecture = match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        "s390x" | "riscv64" | "arm" => architecture,
        "x86" => "386",
        _ => return Err(machine()),
    };
    if os != "linux" {
        return Err(machine());
    }
    format!("{os}/{architecture}").parse().map_err(|_| machine())
}

/// Extracts the program at `path` from an image for `platform`. `cache` is this program's cache
/// directory of the user. Programs are cached by the digest of the image's manifest, so that each
/// image is unpacked once. A cached program is verified before use.
///
/// # Errors
///
/// The registry is not available, the image does not have the file or the platform, or the cache
/// cannot be written.
pub async fn program(
    client: &Client,
    image: &Reference,
    platform: &Platform,
    path: &str,
    cache: &Path,
) -> Result<Program, ProgramError> {
    let place = Storage::Registry(client.clone(), image.clone());
    let root = client.manifest(image).await?;
    let image = Image::read(&place, root, Some(platform)).await?;
    let manifest = image.raw().digest;
    let dir = cache.join(DIRECTORY).join(manifest.hex());
    let name = path.rsplit('/').next().unwrap_or(path);
    let there = dir.join(name);
    if is_whole(&there, path) {
        return Ok(Program { path: there, manifest, cached: true });
    }
    let mut file = image.file(path).await?;
    let failed = |error| ProgramError::Cache { path: there.clone(), error };
    tokio::task::spawn_blocking({
        let (there, path) = (there.clone(), path.to_owned());
        move || keep(&mut file, &there, &path)
    })
    .await
    .map_err(|error| failed(io::Error::other(error)))?
    .map_err(failed)?;
    Ok(Program { path: there, manifest, cached: false })
}

/// Returns whether the cache has a valid copy of the file.
fn is_whole(there: &Path, path: &str) -> bool {
    let read = || -> io::Result<bool> {
        let mut text = Vec::new();
        File::open(record_of(there))?.take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
        let record: Record = serde_json::from_slice(&text)?;
        Ok(record.path == path && digest_of(&mut File::open(there)?)? == record.digest)
    };
    // If anything is wrong with it, it is written again.
    read().unwrap_or(false)
}

fn record_of(there: &Path) -> PathBuf {
    let mut name = there.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

fn digest_of(file: &mut impl io::Read) -> io::Result<Digest> {
    let mut writer = DigestWriter::new(io::sink());
    io::copy(file, &mut writer)?;
    Ok(writer.digest())
}

/// Copies a program to the cache. The record is written last, so that an incomplete copy is not
/// valid.
fn keep(file: &mut NamedTempFile, there: &Path, path: &str) -> io::Result<()> {
    let dir = there.parent().unwrap_or(there);
    fs::create_dir_all(dir)?;
    let mut copy = NamedTempFile::new_in(dir)?;
    let mut digest = DigestWriter::new(io::sink());
    let mut piece = vec![0; 256 << 10];
    loop {
        let read = file.read(&mut piece)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        digest.write_all(bytes)?;
        copy.write_all(bytes)?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o700))?;
    }
    // Close the file before the rename, because a file that is open for writing cannot be executed.
    let (written, copy) = copy.into_parts();
    drop(written);
    copy.persist(there).map_err(|error| error.error)?;
    let record = serde_json::to_vec(&Record { digest: digest.digest(), path: path.to_owned() })?;
    let mut beside = NamedTempFile::new_in(dir)?;
    beside.write_all(&record)?;
    beside.persist(record_of(there)).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_damaged_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("a/e2e.test");
        let keep_it = || {
            let mut file = NamedTempFile::new().unwrap();
            fs::write(file.path(), "program").unwrap();
            keep(&mut file, &there, "bin/e2e.test").unwrap();
        };
        assert!(!is_whole(&there, "bin/e2e.test"));
        keep_it();
        assert!(is_whole(&there, "bin/e2e.test") && !is_whole(&there, "other/e2e.test"));
        fs::write(&there, "progran").unwrap();
        assert!(!is_whole(&there, "bin/e2e.test"));
        keep_it();
        fs::write(record_of(&there), "{}").unwrap();
        assert!(!is_whole(&there, "bin/e2e.test"));
    }
}

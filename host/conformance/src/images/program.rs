//! Programs from images, in the user's cache, and the lists that they print.
//!
//! The program is foreign and runs on this machine. Its environment contains only `PATH` and, on
//! request, the file with registries. Its working directory is empty, and its time and output are
//! limited.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use plumbline_core::DigestWriter;
use plumbline_registry::{Client, Digest, Image, Platform, Reference, RegistryError, Storage};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

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
    #[error("store the program `{}`: {error}", path.display())]
    Cache {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        error: io::Error,
    },
    /// Images have programs for Linux only, so this machine cannot run them.
    #[error("this machine ({0}) cannot run programs of images, which are for Linux")]
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
        Ok(record.path == path && Digest::of_reader(File::open(there)?)? == record.digest)
    };
    // If anything is wrong with it, it is written again.
    read().unwrap_or(false)
}

fn record_of(there: &Path) -> PathBuf {
    let mut name = there.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Copies a program to the cache. The record is written last, so that an incomplete copy is not
/// valid.
fn keep(file: &mut NamedTempFile, there: &Path, path: &str) -> io::Result<()> {
    let dir = there.parent().unwrap_or(there);
    fs::create_dir_all(dir)?;
    let mut copy = DigestWriter::new(NamedTempFile::new_in(dir)?);
    io::copy(file, &mut copy)?;
    let (digest, copy) = (copy.digest(), copy.into_inner());
    fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o700))?;
    // Close the file before the rename, because a file that is open for writing cannot be executed.
    let (written, copy) = copy.into_parts();
    drop(written);
    copy.persist(there).map_err(|error| error.error)?;
    let record = serde_json::to_vec(&Record { digest, path: path.to_owned() })?;
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(&record)?;
    file.persist(record_of(there)).map_err(|error| error.error)?;
    Ok(())
}

/// Time limit. A program answers within a second, but a busy machine may need a while to read the
/// 200 MiB of a large one.
const PATIENCE: Duration = Duration::from_secs(300);
/// Maximum output. The names of 7,000 tests have 1 MiB.
const MAX_OUTPUT: u64 = 64 << 20;
/// Maximum length of the program's error output in a message.
const MAX_COMPLAINT: u64 = 4 << 10;

/// Error while running the program: what failed, on which program, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ListingError(String);

/// Runs `program` with `args` and returns the list that it prints. `registries` is the file for its
/// `KUBE_TEST_REPO_LIST`.
pub async fn listing(program: &Path, args: &[String], registries: Option<&Path>) -> Result<String, ListingError> {
    within(PATIENCE, program, args, registries).await
}

async fn within(
    patience: Duration,
    program: &Path,
    args: &[String],
    registries: Option<&Path>,
) -> Result<String, ListingError> {
    let call = format!("{} {}", program.display(), args.join(" "));
    let execute = |error: io::Error| ListingError(format!("execute `{}`: {error}", program.display()));
    let wrong = |why: &str| ListingError(format!("read the output of `{call}`: {why}"));
    let dir = tempfile::tempdir().map_err(execute)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().current_dir(dir.path()).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    if let Some(registries) = registries {
        // The program runs in another directory, so the path must be absolute.
        command.env("KUBE_TEST_REPO_LIST", std::path::absolute(registries).map_err(execute)?);
    }
    let mut child = command.spawn().map_err(execute)?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ran = async {
        let (out, err) = tokio::try_join!(read(out, MAX_OUTPUT, false), read(err, MAX_COMPLAINT, true))?;
        // Do not wait for a program that prints too much.
        let status = if out.len() as u64 >= MAX_OUTPUT { None } else { Some(child.wait().await?) };
        Ok::<_, io::Error>((status, out, err))
    };
    let Ok(result) = tokio::time::timeout(patience, ran).await else {
        return Err(ListingError(format!("`{call}` took longer than {} s", PATIENCE.as_secs())));
    };
    match result.map_err(execute)? {
        (None, ..) => Err(wrong("it is longer than 64 MiB")),
        (Some(status), out, _) if status.success() => String::from_utf8(out).map_err(|_| wrong("it is not UTF-8 text")),
        (Some(status), _, err) => {
            let complaint = plumbline_core::text::one_line(String::from_utf8_lossy(&err).trim());
            let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
            Err(ListingError(format!("`{call}` exited with {status}{complaint}")))
        }
    }
}

/// Reads at most `limit` bytes. With `drain`, the rest is read and discarded, so that the program
/// does not block.
async fn read(from: Option<impl AsyncRead + Unpin>, limit: u64, drain: bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        (&mut from).take(limit).read_to_end(&mut bytes).await?;
        if drain {
            tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
        }
    }
    Ok(bytes)
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

    fn script(dir: &Path, text: &str) -> PathBuf {
        let path = dir.join("e2e.test");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn images() -> [String; 1] {
        ["--list-images".to_owned()]
    }

    async fn output_of(text: &str) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), text);
        listing(&program, &images(), None).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn it_sees_nothing_of_this_machine() {
        let seen = output_of("env | grep -v '^\\(PWD\\|_\\|SHLVL\\|OLDPWD\\)=' | cut -d= -f1; ls -A; echo \"$1\"")
            .await
            .unwrap();
        assert_eq!(seen, "PATH\n--list-images\n");
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "cat \"$KUBE_TEST_REPO_LIST\"");
        fs::write(dir.path().join("list"), "registries").unwrap();
        let said = listing(&program, &images(), Some(&dir.path().join("list"))).await.unwrap();
        assert_eq!(said, "registries");
    }

    #[tokio::test]
    async fn failures_of_the_program_are_reported() {
        let error = output_of("echo no such flag >&2; exit 2").await.unwrap_err();
        assert!(error.contains("--list-images` exited with exit status: 2: no such flag"), "{error}");
        assert!(output_of("yes complaints | head -c 100000 >&2; echo done").await.unwrap() == "done\n");
        assert!(output_of("printf '\\377'").await.unwrap_err().contains("not UTF-8 text"));
        assert!(output_of("yes").await.unwrap_err().contains("64 MiB"));
        let missing = listing(Path::new("/no/such/program"), &images(), None).await.unwrap_err();
        assert!(missing.to_string().contains("/no/such/program"));
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "exec sleep 1000");
        let slow = within(Duration::from_millis(50), &program, &images(), None).await.unwrap_err();
        assert!(slow.to_string().contains("--list-images` took longer"), "{slow}");
    }
}

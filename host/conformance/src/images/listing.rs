//! Lists that the suite's program prints.
//!
//! It is a foreign program that runs on this machine. Its environment contains only `PATH` and, on
//! request, the file with registries. Its working directory is empty, and its time and output are
//! limited.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Time limit. The program answers within a second, but a busy machine may need a while to read its
/// 200 MiB.
const PATIENCE: Duration = Duration::from_secs(300);
/// Maximum output. The names of all 7,000 tests have 1 MiB.
const MAX_OUTPUT: u64 = 64 << 20;
/// Maximum length of the program's error output in a message.
const MAX_COMPLAINT: u64 = 4 << 10;

/// A list that the program can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Images that the tests use.
    Images,
    /// Names of all tests.
    Tests,
    /// Names of the conformance tests.
    ConformanceTests,
}

impl Listing {
    /// Returns the argument that requests the list.
    #[must_use]
    pub fn argument(self) -> &'static str {
        match self {
            Self::Images => "--list-images",
            Self::Tests => "--list-tests",
            Self::ConformanceTests => "--list-conformance-tests",
        }
    }
}

/// Error while running the program.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The program could not be started.
    #[error("execute `{}`: {error}", program.display())]
    Execute {
        /// Path of the program.
        program: PathBuf,
        /// The underlying I/O error.
        error: io::Error,
    },
    /// The program failed.
    #[error("`{} {argument}` exited with {status}{told}", program.display())]
    Ended {
        /// Path of the program.
        program: PathBuf,
        /// The argument that was passed.
        argument: &'static str,
        /// Exit status of the program.
        status: ExitStatus,
        /// Beginning of its error output.
        told: String,
    },
    /// The program exceeded its time limit.
    #[error("`{} {argument}` took longer than {} s", program.display(), PATIENCE.as_secs())]
    Slow {
        /// Path of the program.
        program: PathBuf,
        /// The argument that was passed.
        argument: &'static str,
    },
    /// The output is too long, or not UTF-8.
    #[error("what `{} {argument}` printed is not a list: {why}", program.display())]
    Output {
        /// Path of the program.
        program: PathBuf,
        /// The argument that was passed.
        argument: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

/// Runs `program` and returns the list that it prints. `registries` is the file for its
/// `KUBE_TEST_REPO_LIST`.
///
/// # Errors
///
/// The program cannot be started, fails, or exceeds a limit.
pub async fn listing(program: &Path, what: Listing, registries: Option<&Path>) -> Result<String, ListingError> {
    within(PATIENCE, program, what, registries).await
}

async fn within(
    patience: Duration,
    program: &Path,
    what: Listing,
    registries: Option<&Path>,
) -> Result<String, ListingError> {
    let argument = what.argument();
    let execute = |error| ListingError::Execute { program: program.to_owned(), error };
    let dir = tempfile::tempdir().map_err(execute)?;
    let mut command = Command::new(program);
    command.arg(argument).env_clear().current_dir(dir.path()).kill_on_drop(true);
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
        let status = if out.more { None } else { Some(child.wait().await?) };
        Ok::<_, io::Error>((status, out, err))
    };
    let wrong = |why| ListingError::Output { program: program.to_owned(), argument, why };
    let (status, out, err) = match tokio::time::timeout(patience, ran).await {
        Err(_) => return Err(ListingError::Slow { program: program.to_owned(), argument }),
        Ok(result) => result.map_err(execute)?,
    };
    match status {
        None => Err(wrong("it is longer than 64 MiB")),
        Some(status) if status.success() => String::from_utf8(out.bytes).map_err(|_| wrong("it is not UTF-8 text")),
        Some(status) => {
            let told = String::from_utf8_lossy(&err.bytes);
            let told = plumbline_core::text::one_line(told.trim());
            let told = if told.is_empty() { told } else { format!(": {told}") };
            Err(ListingError::Ended { program: program.to_owned(), argument, status, told })
        }
    }
}

struct ListingOutput {
    bytes: Vec<u8>,
    more: bool,
}

/// Reads at most `limit` bytes. With `drain`, the rest is read and discarded, so that the program
/// does not block.
async fn read(from: Option<impl AsyncRead + Unpin>, limit: u64, drain: bool) -> io::Result<ListingOutput> {
    let Some(mut from) = from else { return Ok(ListingOutput { bytes: Vec::new(), more: false }) };
    let mut bytes = Vec::new();
    (&mut from).take(limit).read_to_end(&mut bytes).await?;
    let more = bytes.len() as u64 >= limit;
    if more && drain {
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(ListingOutput { bytes, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(dir: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.join("e2e.test");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    async fn told(text: &str) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), text);
        listing(&program, Listing::Images, None).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn it_sees_nothing_of_this_machine() {
        let seen =
            told("env | grep -v '^\\(PWD\\|_\\|SHLVL\\|OLDPWD\\)=' | cut -d= -f1; ls -A; echo \"$1\"").await.unwrap();
        assert_eq!(seen, "PATH\n--list-images\n");
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "cat \"$KUBE_TEST_REPO_LIST\"");
        std::fs::write(dir.path().join("list"), "registries").unwrap();
        let said = listing(&program, Listing::Images, Some(&dir.path().join("list"))).await.unwrap();
        assert_eq!(said, "registries");
    }

    #[tokio::test]
    async fn what_goes_wrong_is_told() {
        let error = told("echo no such flag >&2; exit 2").await.unwrap_err();
        assert!(error.contains("--list-images` exited with exit status: 2: no such flag"), "{error}");
        assert!(told("yes complaints | head -c 100000 >&2; echo done").await.unwrap() == "done\n");
        assert!(told("printf '\\377'").await.unwrap_err().contains("not UTF-8 text"));
        assert!(told("yes").await.unwrap_err().contains("64 MiB"));
        let missing = listing(Path::new("/no/such/program"), Listing::Tests, None).await.unwrap_err();
        assert!(missing.to_string().contains("/no/such/program"));
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "exec sleep 1000");
        let slow = within(Duration::from_millis(50), &program, Listing::ConformanceTests, None).await.unwrap_err();
        assert!(slow.to_string().contains("--list-conformance-tests` took longer"), "{slow}");
    }
}

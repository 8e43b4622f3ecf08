//! Credential helpers: programs that keep secrets, asked as Docker asks them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::{CredentialError, Credentials, Secret};
use crate::error::Told;
use crate::limits::MAX_HELPER_BYTES;

/// How long a helper may take: some ask a cloud, some ask the person.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a helper prints that has nothing for this registry: a convention of all of them.
const NOTHING_THERE: &str = "credentials not found in native keychain";
/// The user name that stands for a token.
const TOKEN_USER: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// What `docker-credential-NAME` has for `server`; `file` names it.
pub(super) async fn ask(
    name: &str,
    server: &str,
    file: &Path,
    search: Option<&OsStr>,
) -> Result<Option<Credentials>, CredentialError> {
    let program = format!("docker-credential-{}", plumbline_core::text::excerpt(name, 100));
    let failed = |why: String| CredentialError::Helper { program: program.clone(), path: file.into(), why };
    // A name is looked for on PATH; a path in its place would run what a file of credentials has no business to choose.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        return Err(failed("its name has characters that no helper's name has".into()));
    }
    let mut command = Command::new(&program);
    if let Some(search) = search {
        command.env("PATH", search);
    }
    let mut child = command
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("it cannot be started: {error}")))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let talk = async {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // One that answers without reading has closed it: its answer counts.
                let _ = stdin.write_all(server.as_bytes()).await;
            }
        };
        let ((), out, err) = tokio::join!(feed, bounded(stdout), bounded(stderr));
        (child.wait().await, out, err)
    };
    // Dropped at the limit, and the program with it.
    let Ok((status, out, err)) = tokio::time::timeout(PATIENCE, talk).await else {
        return Err(failed(format!("it gave no answer within {} s", PATIENCE.as_secs())));
    };
    let status = status.map_err(|error| failed(error.to_string()))?;
    if out.len() as u64 > MAX_HELPER_BYTES {
        return Err(failed(format!("it printed more than {MAX_HELPER_BYTES} bytes")));
    }
    if !status.success() {
        let said = [&out, &err].map(|text| String::from_utf8_lossy(text).trim().to_owned());
        if said.iter().any(|text| text.contains(NOTHING_THERE)) {
            return Ok(None);
        }
        return Err(failed(format!("{status}{}", Told::new(&said.join(" ")))));
    }
    // What it printed is a secret even where it is not understood.
    let answer: Answer = serde_json::from_slice(&out).map_err(|_| failed("what it printed is not an answer".into()))?;
    if answer.secret.is_empty() {
        return Ok(None);
    }
    let secret = match answer.username.as_str() {
        TOKEN_USER => Secret::Identity(answer.secret),
        _ => Secret::Password(answer.username, answer.secret),
    };
    Ok(Some(Credentials { secret, origin: format!("`{program}`") }))
}

/// Up to one byte more than there may be. The rest is not read: the program is ended for it.
async fn bounded(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What was read until then counts; that it is not whole shows when it is parsed.
        let _ = from.take(MAX_HELPER_BYTES + 1).read_to_end(&mut bytes).await;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_helper_is_found_by_name_only() {
        for name in ["../x", "a/b", "a b", "a;b"] {
            let told = ask(name, "r", Path::new("auth.json"), None).await.unwrap_err().to_string();
            assert!(told.contains("characters"), "{told}");
        }
        let told = ask("not-there-at-all", "r", Path::new("auth.json"), None).await.unwrap_err();
        assert!(told.to_string().contains("`docker-credential-not-there-at-all`, named in `auth.json`"), "{told}");
        assert!(told.hint().unwrap().contains("install"));
    }
}

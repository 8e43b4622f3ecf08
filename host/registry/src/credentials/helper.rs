//! Credential helpers: programs that store secrets, with Docker's protocol.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::{CredentialError, Credentials, Secret};
use crate::error::ServerMessage;
use crate::limits::MAX_HELPER_BYTES;

/// Time limit for a helper. Some contact a cloud service, others prompt the user.
const PATIENCE: Duration = Duration::from_secs(60);
/// Message of a helper that has no secret for the registry. All helpers use it by convention.
const NOTHING_THERE: &str = "credentials not found in native keychain";
/// User name that marks the secret as an identity token.
const TOKEN_USER: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Asks `docker-credential-NAME` for the credentials of `server`. `file` is the configuration file,
/// for messages.
pub(super) async fn ask(
    name: &str,
    server: &str,
    file: &Path,
    search: Option<&OsStr>,
) -> Result<Option<Credentials>, CredentialError> {
    let program = format!("docker-credential-{}", plumbline_core::text::excerpt(name, 100));
    let failed = |why: String| CredentialError::Helper { program: program.clone(), path: file.into(), why };
    // The program is searched on `PATH`. Reject paths, because a credential file must not be able
    // to run arbitrary programs.
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
        .map_err(|error| failed(format!("failed to start it: {error}")))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let talk = async {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A helper that answers without reading has closed its standard input. Its answer
                // is still valid.
                let _ = stdin.write_all(server.as_bytes()).await;
            }
        };
        let ((), out, err) = tokio::join!(feed, bounded(stdout), bounded(stderr));
        (child.wait().await, out, err)
    };
    // The timeout drops the future, which kills the program.
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
        return Err(failed(format!("{status}{}", ServerMessage::new(&said.join(" ")))));
    }
    // Do not quote the output. It may be a secret even if it is malformed.
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

/// Reads one byte more than the limit. A program that writes more is killed.
async fn bounded(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // Use the bytes that were read so far. If they are incomplete, parsing fails.
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

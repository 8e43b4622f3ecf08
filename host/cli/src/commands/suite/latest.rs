//! The latest build of Kubernetes.

use std::time::Duration;

use plumbline_conformance::suite::{LATEST_URL, MAX_LATEST_BYTES, latest_version};
use plumbline_core::chain;
use reqwest::{Client, StatusCode};

use crate::error::CliError;
use crate::ui::say;

/// How long the answer may take: it is one line.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `--kubernetes-version latest` stands for.
pub(super) const LATEST: &str = "latest";

/// The version of the latest build, as tags of images write it.
pub(super) async fn latest() -> Result<String, CliError> {
    let wrong = |cause: String| {
        CliError::system(format!("the latest version of Kubernetes cannot be looked up: {cause}"))
            .hint("name a version with `--kubernetes-version`, such as `v1.30.2`")
    };
    let answer = ask().await.map_err(|cause| wrong(format!("`{LATEST_URL}`: {cause}")))?;
    let version = latest_version(&answer).map_err(|error| wrong(format!("`{LATEST_URL}`: {error}")))?;
    say(&format!("the latest version of Kubernetes is {version}"));
    Ok(version)
}

async fn ask() -> Result<String, String> {
    // One process has one provider of cryptography; an error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().timeout(PATIENCE).https_only(true).build().map_err(|error| chain(&error))?;
    let mut answer = client.get(LATEST_URL).send().await.map_err(|error| chain(&error))?;
    if answer.status() != StatusCode::OK {
        return Err(format!("the server answers {}", answer.status()));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| chain(&error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_LATEST_BYTES {
            return Err(format!("it has more than {MAX_LATEST_BYTES} bytes"));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

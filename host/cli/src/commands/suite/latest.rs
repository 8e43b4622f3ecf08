//! The latest build of Kubernetes.

use plumbline_conformance::suite::{LATEST_URL, MAX_LATEST_BYTES, latest_version};

use super::fetch::fetch;
use crate::error::CliError;
use crate::ui::say;

/// What `--kubernetes-version latest` stands for.
pub(super) const LATEST: &str = "latest";

/// The version of the latest build, as tags of images write it.
pub(super) async fn latest() -> Result<String, CliError> {
    let wrong = |cause: &str| {
        CliError::system(format!("the latest version of Kubernetes cannot be looked up at `{LATEST_URL}`: {cause}"))
            .hint("name a version with `--kubernetes-version`, such as `v1.30.2`")
    };
    let answer = fetch(LATEST_URL, MAX_LATEST_BYTES).await.map_err(|cause| wrong(&cause))?;
    let answer = answer.ok_or_else(|| wrong("it is not there"))?;
    let version = latest_version(&String::from_utf8_lossy(&answer)).map_err(|error| wrong(&error.to_string()))?;
    say(&format!("the latest version of Kubernetes is {version}"));
    Ok(version)
}

//! The latest build of Kubernetes.

use plumbline_conformance::suite::{LATEST_URL, MAX_LATEST_BYTES, latest_version};

use crate::error::CliError;
use crate::sources::address;
use crate::ui::say;

/// What `--kubernetes-version latest` stands for.
pub(crate) const LATEST: &str = "latest";

/// The version of the latest build, as tags of images write it.
pub(crate) async fn latest() -> Result<String, CliError> {
    let wrong = |cause: &str| {
        CliError::system(format!("the latest version of Kubernetes cannot be looked up at `{LATEST_URL}`: {cause}"))
            .hint("name a version with `--kubernetes-version`, such as `v1.30.2`")
    };
    // It waits on a thread of its own.
    let asked = tokio::task::spawn_blocking(|| address::get(LATEST_URL, MAX_LATEST_BYTES)).await;
    let answer = asked.map_err(|error| wrong(&error.to_string()))??.map_err(|cause| wrong(&cause))?;
    let version = latest_version(&String::from_utf8_lossy(&answer)).map_err(|error| wrong(&error.to_string()))?;
    say(&format!("the latest version of Kubernetes is {version}"));
    Ok(version)
}

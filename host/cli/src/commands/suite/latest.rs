//! The latest build of Kubernetes.

use plumbline_app::AppError;
use plumbline_app::Context;
use plumbline_app::sources::url;
use plumbline_conformance::suite::{LATEST_URL, MAX_LATEST_BYTES, latest_version};

/// What `--kubernetes-version latest` stands for.
pub(crate) const LATEST: &str = "latest";

/// The version of the latest build, as tags of images write it.
pub(crate) async fn latest(context: &Context) -> Result<String, AppError> {
    let wrong = |cause: &str| {
        AppError::system(format!("the latest version of Kubernetes cannot be looked up at `{LATEST_URL}`: {cause}"))
            .hint("name a version with `--kubernetes-version`, such as `v1.30.2`")
    };
    // It waits on a thread of its own.
    let asked = tokio::task::spawn_blocking({
        let context = context.clone();
        move || url::get(&context, LATEST_URL, MAX_LATEST_BYTES)
    })
    .await;
    let answer = asked.map_err(|error| wrong(&error.to_string()))??.map_err(|cause| wrong(&cause))?;
    let version = latest_version(&String::from_utf8_lossy(&answer)).map_err(|error| wrong(&error.to_string()))?;
    context.reporter.progress(&format!("the latest version of Kubernetes is {version}"));
    Ok(version)
}

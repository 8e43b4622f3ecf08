//! The built-in profile, which is that of the suite of Kubernetes. Its plugin `e2e` is built in too
//! (`crate::suite`).

use std::sync::LazyLock;

use plumbline_core::closest;
use plumbline_profile::{Profile, ProfileError, ProfileMode};

use crate::error::AppError;

/// The name of the profile of the suite of Kubernetes.
pub const KUBERNETES: &str = "kubernetes";

/// The version of the suite, for people.
pub const KUBERNETES_VERSION: &str = "that of the cluster";

static PROFILE: LazyLock<Result<Profile, ProfileError>> =
    LazyLock::new(|| Profile::parse(include_bytes!("../../../../plugins/profiles/kubernetes/profile.yaml")));

/// The profile of the suite of Kubernetes.
pub fn kubernetes() -> Result<&'static Profile, AppError> {
    PROFILE
        .as_ref()
        .map_err(|error| AppError::system(format!("the built-in profile `{KUBERNETES}` is damaged")).because(error))
}

/// The modes of the suite of Kubernetes.
#[must_use]
pub fn modes() -> &'static [ProfileMode] {
    PROFILE.as_ref().map_or(&[], |profile| &profile.modes)
}

/// Checks the name of a mode of the suite of Kubernetes.
///
/// # Errors
///
/// The suite has no such mode.
pub fn parse_mode(text: &str) -> Result<String, UnknownMode> {
    match modes().iter().any(|mode| mode.name == text) {
        true => Ok(text.to_owned()),
        false => Err(UnknownMode(text.to_owned())),
    }
}

/// The suite of Kubernetes has no mode of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode{}: the modes are {}", meant(.0), all())]
pub struct UnknownMode(String);

fn meant(typed: &str) -> String {
    let near = closest(typed, modes().iter().map(|mode| mode.name.as_str()));
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn all() -> String {
    modes().iter().map(|mode| format!("`{}`", mode.name)).collect::<Vec<_>>().join(", ")
}

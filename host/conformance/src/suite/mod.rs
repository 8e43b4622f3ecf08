//! The suite of Kubernetes: its versions, its reruns, and the settings that its profile cannot express.
//!
//! ```text
//! definition with the values of the profile ──▶ Settings::apply ──▶ definition ──▶ chosen: what its image will select
//! ```

mod rerun;
mod settings;

pub use rerun::{
    MAX_FOCUS_BYTES, MAX_RETRIES, RerunError, RetryError, add_retries, any_test_ran, failed_tests, rerun_focus,
};
pub(crate) use settings::PARALLEL_SKIP;
pub use settings::{
    CONFIG_DIR, CREDENTIALS_DIR, Chosen, ConfigFile, DEFAULT_FOCUS, EXTRA_ARGS, EXTRA_ARGS_SEPARATOR, PROGRESS_FLAG,
    Settings, SettingsError, appended, chosen, with_progress,
};

/// Image of the suite in the built-in definition, without a tag.
pub const BUILT_IN_IMAGE: &str = "registry.k8s.io/conformance";

/// Image of builds that are not releases, as the Kubernetes project publishes them.
pub const LATEST_IMAGE: &str = "gcr.io/k8s-staging-ci-images/conformance";

/// URL that returns the latest build.
pub const LATEST_URL: &str = "https://storage.googleapis.com/k8s-release-dev/ci/latest.txt";

/// Maximum size of its response in bytes. A version has some forty bytes.
pub const MAX_LATEST_BYTES: usize = 256;

/// First minor version whose suite accepts registry credentials.
const CREDENTIALS_SINCE: (u32, u32) = (1, 27);

/// Error for a response that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid Kubernetes version `{0}`")]
pub struct NoVersion(String);

/// Returns the version in the response of [`LATEST_URL`] as an image tag, which cannot contain `+`.
pub fn latest_version(answer: &str) -> Result<String, NoVersion> {
    let text = answer.trim();
    let version = text.replacen('+', "_", 1);
    let tag = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    match major_minor(&version) {
        Some(_) if version.bytes().all(tag) => Ok(version),
        _ => Err(NoVersion(text.chars().take(60).collect())),
    }
}

/// Returns the image of the latest build that corresponds to `image`, because such builds are
/// published in another registry. `None` if `image` is not the built-in image with a tag.
pub fn image_of_latest(image: &str) -> Option<String> {
    let tag = image.strip_prefix(BUILT_IN_IMAGE)?.strip_prefix(':')?;
    Some(format!("{LATEST_IMAGE}:{tag}"))
}

/// Returns whether the suite of this version accepts a file with credentials
/// (`--e2e-docker-config-file`). `None` if the string is not a version, such as `ignore`.
pub fn takes_credentials(version: &str) -> Option<bool> {
    major_minor(version).map(|version| version >= CREDENTIALS_SINCE)
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v')?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_build_becomes_a_tag() {
        let latest = latest_version("v1.37.0-alpha.0.12+0123456789abcd\n").unwrap();
        assert_eq!(latest, "v1.37.0-alpha.0.12_0123456789abcd");
        for bad in ["", "<html>", "1.37.0", "v1.37.0 v1.38.0", "v1.37.0+a+b"] {
            assert!(latest_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_latest_build_is_in_a_separate_registry() {
        let of = |image| image_of_latest(image);
        assert_eq!(
            of("registry.k8s.io/conformance:$V"),
            Some("gcr.io/k8s-staging-ci-images/conformance:$V".to_owned())
        );
        for other in
            ["registry.k8s.io/conformance-amd64:v1", "a.b/conformance:v1", "registry.k8s.io/conformance@sha256:0"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn credentials_are_for_suites_that_know_them() {
        assert_eq!(takes_credentials("v1.26.9"), Some(false));
        assert_eq!(takes_credentials("v1.27.0-rc.1"), Some(true));
        assert_eq!(takes_credentials("ignore"), None);
    }
}

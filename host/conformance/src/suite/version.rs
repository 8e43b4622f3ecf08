//! Versions of Kubernetes, as far as the suite depends on them.

/// The suite's image, as the built-in definition names it, without a tag.
pub const STOCK_IMAGE: &str = "registry.k8s.io/conformance";

/// Where the project of Kubernetes publishes images of builds that are no release.
pub const LATEST_IMAGE: &str = "gcr.io/k8s-staging-ci-images/conformance";

/// Where it says which build is the latest.
pub const LATEST_URL: &str = "https://storage.googleapis.com/k8s-release-dev/ci/latest.txt";

/// What is read of that: a version has some forty bytes.
pub const MAX_LATEST_BYTES: usize = 256;

/// The first minor version whose suite takes credentials for registries.
const CREDENTIALS_SINCE: (u32, u32) = (1, 27);

/// What was given as the latest version is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version of Kubernetes")]
pub struct NoVersion(String);

/// The version in the answer of [`LATEST_URL`], as tags of images write it: a tag has no `+`.
///
/// # Errors
/// The answer is no version.
pub fn latest_version(answer: &str) -> Result<String, NoVersion> {
    let text = answer.trim();
    let version = text.replacen('+', "_", 1);
    let tag = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    match major_minor(&version) {
        Some(_) if version.bytes().all(tag) => Ok(version),
        _ => Err(NoVersion(text.chars().take(60).collect())),
    }
}

/// The image in place of `image`, where the latest build is meant and `image` is the built-in one with a tag: builds that are no release are
/// published elsewhere.
#[must_use]
pub fn image_of_latest(image: &str) -> Option<String> {
    let tag = image.strip_prefix(STOCK_IMAGE)?.strip_prefix(':')?;
    Some(format!("{LATEST_IMAGE}:{tag}"))
}

/// Whether the suite of this version takes a file with credentials (`--e2e-docker-config-file`); `None`: the text is no version, such as
/// `ignore`.
#[must_use]
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
    fn the_latest_build_is_in_a_registry_of_its_own() {
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

//! Names of images in a private registry.

use std::fmt;
use std::str::FromStr;

use plumbline_registry::{Reference, ReferenceError, SCHEME};

/// Location that replaces the original registries of images: `HOST[:PORT][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

/// Error for a string that is not a valid location for images.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a place for images: write `HOST[:PORT][/PATH]`, such as `registry.lan:5000/mirror`")]
pub struct PrefixError {
    text: String,
    #[source]
    cause: Option<ReferenceError>,
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let bare = text.strip_prefix(SCHEME).unwrap_or(text).trim_end_matches('/');
        let wrong = |cause| PrefixError { text: plumbline_core::text::excerpt(text, 255), cause };
        // A prefix is valid if a name below it is valid. A tag in the prefix would end up in the
        // middle of names.
        let below: Reference = format!("{SCHEME}{bare}/x").parse().map_err(|cause| wrong(Some(cause)))?;
        // Without a dot, a port or `localhost`, container engines interpret the first component of
        // `mirror/x` as a name on Docker Hub.
        let host = below.registry();
        if !host.contains(['.', ':']) && host != "localhost" {
            return Err(wrong(None));
        }
        // Normalize the host, because its case does not matter, but images below the prefix are
        // detected by comparison.
        let below = below.bare();
        Ok(Self(below.strip_suffix("/x").unwrap_or(&below).to_owned()))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the name of `image` below `prefix`. The registry is replaced, and path, tag and digest
/// are kept. A name that is already below the prefix stays the same.
///
/// `registry.k8s.io/pause:3.9` becomes `PREFIX/pause:3.9`. `busybox`, which is
/// `docker.io/library/busybox`, becomes `PREFIX/library/busybox`. The rest of the text is not
/// validated, so variables in it are kept.
#[must_use]
pub fn rewrite(image: &str, prefix: &Prefix) -> String {
    let image = image.strip_prefix(SCHEME).unwrap_or(image);
    if image.strip_prefix(&prefix.0).is_some_and(|rest| rest.starts_with('/')) {
        return image.to_owned();
    }
    let path = match image.split_once('/') {
        Some(("docker.io" | "index.docker.io", rest)) if !rest.contains('/') => format!("library/{rest}"),
        Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => rest.to_owned(),
        Some(_) => image.to_owned(),
        None => format!("library/{image}"),
    };
    format!("{prefix}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_go_and_all_else_stays() {
        let prefix: Prefix = "oci://lan:5000/mirror/".parse().unwrap();
        let digest = format!("sha256:{}", "0".repeat(64));
        for (image, expected) in [
            ("registry.k8s.io/e2e-test-images/agnhost:2.39", "lan:5000/mirror/e2e-test-images/agnhost:2.39"),
            ("registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION", "lan:5000/mirror/conformance:$SONOBUOY_K8S_VERSION"),
            ("docker.io/library/busybox", "lan:5000/mirror/library/busybox"),
            ("docker.io/busybox:1", "lan:5000/mirror/library/busybox:1"),
            ("busybox:1.36", "lan:5000/mirror/library/busybox:1.36"),
            ("sonobuoy/systemd-logs:v0.4", "lan:5000/mirror/sonobuoy/systemd-logs:v0.4"),
            ("localhost/a", "lan:5000/mirror/a"),
            ("lan:5000/mirror/a:1", "lan:5000/mirror/a:1"),
            ("lan:5000/mirrored/a:1", "lan:5000/mirror/mirrored/a:1"),
        ] {
            assert_eq!(rewrite(image, &prefix), expected);
            assert_eq!(rewrite(expected, &prefix), expected, "once is enough");
        }
        assert_eq!(rewrite(&format!("quay.io/a/b@{digest}"), &prefix), format!("lan:5000/mirror/a/b@{digest}"));
    }

    #[test]
    fn what_is_no_prefix_is_told() {
        for wrong in ["", "/", "mirror", "lan:5000/a:1", "http://lan", "lan:5000/A", "lan:x", "a b.c"] {
            let told = wrong.parse::<Prefix>().unwrap_err().to_string();
            assert!(told.contains("not a place for images"), "{wrong}: {told}");
        }
        let prefix: Prefix = "LAN:5000/m".parse().unwrap();
        assert_eq!(rewrite("lan:5000/m/a:1", &prefix), "lan:5000/m/a:1", "it already exists");
        assert_eq!("127.0.0.1:5000".parse::<Prefix>().unwrap().to_string(), "127.0.0.1:5000");
    }
}

//! References to artifacts in a registry.

use std::fmt;
use std::str::FromStr;

use plumbline_core::text::excerpt;
use plumbline_core::{Digest, DigestError};

/// Prefix of references to a registry.
pub const SCHEME: &str = "oci://";
/// Maximum length of host and repository together. Clients and registries agree on it (OCI
/// distribution specification, "Pulling manifests").
const MAX_NAME: usize = 255;
/// Maximum length of a tag (OCI distribution specification).
const MAX_TAG: usize = 128;
/// Default tag of a reference without tag and digest.
const DEFAULT_TAG: &str = "latest";

/// Reference to an artifact: `HOST[:PORT]/NAME[:TAG][@DIGEST]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Error for a string that is not a valid reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The host before the name is missing.
    #[error("`{0}` has no registry: expected `oci://HOST[:PORT]/NAME[:TAG][@DIGEST]`")]
    NoRegistry(String),
    /// The host or its port is invalid.
    #[error("invalid registry `{0}`: expected HOST or HOST:PORT")]
    Registry(String),
    /// The repository is missing or has invalid characters.
    #[error(
        "invalid repository name `{0}`: expected parts of a-z, 0-9 and single `.`, `_`, `-` between them, separated by `/`"
    )]
    Repository(String),
    /// Host and repository together are too long.
    #[error("the name is longer than {MAX_NAME} characters")]
    Long,
    /// The tag is invalid.
    #[error(
        "invalid tag `{0}`: expected up to {MAX_TAG} of A-Z, a-z, 0-9, `.`, `_`, `-`, and no `.` or `-` at the beginning"
    )]
    Tag(String),
    /// The part after `@` is not a valid digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

impl Reference {
    /// Returns whether `text` starts with `oci://`, so that it is neither a path nor a name.
    pub fn is_meant(text: &str) -> bool {
        text.get(..SCHEME.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(SCHEME))
    }

    /// Returns the registry, `HOST` or `HOST:PORT`.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the name of the repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// Returns the tag, if there is one.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest, if there is one. A pulled artifact must have it.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the digest, or else the tag, or else `latest`, for a request to the registry.
    pub(crate) fn target(&self) -> String {
        self.digest.map_or_else(|| self.tag_or_default().to_owned(), |digest| digest.to_string())
    }

    /// Returns the tag, or `latest`.
    pub fn tag_or_default(&self) -> &str {
        self.tag().unwrap_or(DEFAULT_TAG)
    }

    /// Returns the same reference with this digest.
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }

    /// Returns the same reference with this digest and no tag.
    pub fn by_digest(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), tag: None, ..self.clone() }
    }

    /// Returns the same repository with this tag and no digest.
    pub fn with_tag(&self, tag: &str) -> Result<Self, ReferenceError> {
        check_tag(tag)?;
        Ok(Self { digest: None, tag: Some(tag.to_owned()), ..self.clone() })
    }

    /// Returns the same repository with the tag, or `latest`, and no digest.
    pub fn tagged(&self) -> Self {
        Self { digest: None, tag: Some(self.tag_or_default().to_owned()), ..self.clone() }
    }

    /// Parses an image name as in a pod's definition. The default registry is Docker Hub, and
    /// `busybox` means `docker.io/library/busybox`.
    pub fn of_image(text: &str) -> Result<Self, ReferenceError> {
        if Self::is_meant(text) {
            return text.parse();
        }
        format!("{SCHEME}{}", full_image_name(text)).parse()
    }

    /// Returns the same reference at another location, which the caller has validated.
    pub(crate) fn moved(&self, registry: &str, repository: &str) -> Self {
        Self { registry: registry.to_owned(), repository: repository.to_owned(), ..self.clone() }
    }

    /// Returns the reference without `oci://`, as other tools write it.
    pub fn bare(&self) -> String {
        self.to_string().split_off(SCHEME.len())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let explicit = Self::is_meant(text);
        let rest = if explicit { text.get(SCHEME.len()..).unwrap_or_default() } else { text };
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse()?)),
            None => (rest, None),
        };
        let (registry, name) =
            rest.split_once('/').ok_or_else(|| ReferenceError::NoRegistry(excerpt(text, MAX_NAME)))?;
        // Without the scheme, `team/check` is a path or a mistake. With it, `registry/check` can be
        // a host in a cluster's network.
        let looks_like_one = registry.contains(['.', ':']) && !registry.starts_with('.') || registry == "localhost";
        if registry.is_empty() || !explicit && !looks_like_one {
            return Err(ReferenceError::NoRegistry(excerpt(text, MAX_NAME)));
        }
        check_registry(registry)?;
        let (repository, tag) = match name.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (name, None),
        };
        if !is_repository(repository) {
            return Err(ReferenceError::Repository(excerpt(repository, MAX_NAME)));
        }
        if registry.len() + 1 + repository.len() > MAX_NAME {
            return Err(ReferenceError::Long);
        }
        tag.map(check_tag).transpose()?;
        Ok(Self {
            registry: registry.to_ascii_lowercase(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

/// Returns the name of an image with its registry, as container engines complete it. Nothing is
/// validated, because the text may contain variables.
pub fn full_image_name(text: &str) -> String {
    const HUB: &str = "docker.io";
    match text.split_once('/') {
        Some((HUB | "index.docker.io", rest)) if !rest.contains('/') => format!("{HUB}/library/{rest}"),
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => text.to_owned(),
        Some(_) => format!("{HUB}/{text}"),
        None => format!("{HUB}/library/{text}"),
    }
}

/// Checks a host name, an IPv4 address or an IPv6 address in brackets, with an optional port.
pub(crate) fn check_registry(text: &str) -> Result<(), ReferenceError> {
    let is_label = |label: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(fits) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    let (is_host, rest) = match text.strip_prefix('[') {
        Some(inside) => {
            let (address, rest) = inside.split_once(']').unwrap_or_default();
            (address.parse::<std::net::Ipv6Addr>().is_ok(), rest)
        }
        None => {
            let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (host.split('.').all(is_label), rest)
        }
    };
    match is_host && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)) {
        true => Ok(()),
        false => Err(ReferenceError::Registry(excerpt(text, MAX_NAME))),
    }
}

/// Returns whether `text` matches
/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*`.
pub(crate) fn is_repository(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separates = |text: &str| matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    text.split('/')
        .all(|part| part.starts_with(is_word) && part.ends_with(is_word) && part.split(is_word).all(separates))
}

fn check_tag(text: &str) -> Result<(), ReferenceError> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let good = (1..=MAX_TAG).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with(['.', '-']);
    if good { Ok(()) } else { Err(ReferenceError::Tag(excerpt(text, MAX_NAME))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_as_engines_do() {
        for (text, full) in [
            ("busybox", "docker.io/library/busybox"),
            ("busybox:1.36", "docker.io/library/busybox:1.36"),
            ("sonobuoy/systemd-logs:v0.4", "docker.io/sonobuoy/systemd-logs:v0.4"),
            ("docker.io/nginx", "docker.io/library/nginx"),
            ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
            ("localhost/a", "localhost/a"),
            ("lan:5000/a", "lan:5000/a"),
        ] {
            assert_eq!(Reference::of_image(text).unwrap().bare(), full);
        }
        for wrong in ["", "Busybox", "a b", "/a", "a/", "a:b:c", "-"] {
            assert!(Reference::of_image(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn valid_references_are_read_and_written_unchanged() {
        let digest = Digest::of(b"x");
        for text in [
            "oci://registry/check".to_owned(),
            "oci://registry.example.com/team/check:1.2".to_owned(),
            format!("oci://localhost:5000/a/b__c-d--e.f@{digest}"),
            format!("oci://10.0.0.1:5000/a:v1@{digest}"),
            "oci://[::1]:5000/a:_x".to_owned(),
            "oci://[fd00::1]/a".to_owned(),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!(reference.to_string(), text);
        }
        let bare: Reference = "registry.example.com/check".parse().unwrap();
        assert_eq!(
            (bare.registry(), bare.repository(), bare.target().as_str()),
            ("registry.example.com", "check", "latest")
        );
        assert_eq!(bare.bare(), "registry.example.com/check");
        let upper: Reference = "OCI://Registry.Example.com/check:V1".parse().unwrap();
        assert_eq!(upper.to_string(), "oci://registry.example.com/check:V1");
        assert_eq!(upper.with_digest(digest).target(), digest.to_string());
    }

    #[test]
    fn an_invalid_reference_is_rejected_with_the_reason() {
        let error = |text: &str| text.parse::<Reference>().unwrap_err();
        for text in ["", "oci://", "check", "team/check", "./team/check", "oci:///check", "oci://host"] {
            assert!(matches!(error(text), ReferenceError::NoRegistry(_)), "{text}: {}", error(text));
        }
        for text in [
            "oci://-h/x",
            "oci://h:0/x",
            "oci://h:70000/x",
            "oci://h:+1/x",
            "oci://h_x/x",
            "oci://[::1/x",
            "oci://u:p@h/x",
        ] {
            let error = error(text);
            assert!(
                matches!(
                    error,
                    ReferenceError::Registry(_) | ReferenceError::Digest(_) | ReferenceError::NoRegistry(_)
                ),
                "{text}: {error}"
            );
        }
        for name in [
            "", "A", "a//b", "/a", "a/", "a..b", "a___b", "-a", "a-", "a._b", "ä", "a b", "../a", "a/../b", "a?b",
            "a%2fb",
        ] {
            assert!(matches!(error(&format!("oci://h/{name}")), ReferenceError::Repository(_)), "{name}");
        }
        for tag in ["", ".a", "-a", "a b", "ä", &"a".repeat(129)] {
            assert!(matches!(error(&format!("oci://h/a:{tag}")), ReferenceError::Tag(_)), "{tag}");
        }
        assert_eq!(error(&format!("oci://h/{}", "a".repeat(254))), ReferenceError::Long);
        assert!(matches!(error("oci://h/a@sha256:00"), ReferenceError::Digest(_)));
    }
}

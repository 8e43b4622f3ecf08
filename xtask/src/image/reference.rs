//! The name of an image.

use crate::error::Error;

/// The registry that container engines assume if the name has none.
const DEFAULT_REGISTRY: &str = "docker.io";
/// The directory in that registry if the name has none.
const DEFAULT_FOLDER: &str = "library";
/// The tag if the name has none.
const DEFAULT_TAG: &str = "latest";
/// Maximum length of a tag in the distribution specification.
const MAX_TAG: usize = 128;

/// A complete image name. Kubelets look only for the full name, so the parts that engines add are
/// filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    repository: String,
    tag: String,
}

impl Reference {
    /// Parses `[REGISTRY/]PATH[:TAG]`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::Usage(format!("`{text}` is not the name of an image, such as `registry.example/plumbline:v1`"));
        let (path, tag) = match text.rsplit_once(':') {
            // A colon before a slash belongs to the port of a registry.
            Some((path, tag)) if !tag.contains('/') => (path, tag),
            _ => (text, DEFAULT_TAG),
        };
        let mut parts: Vec<&str> = path.split('/').collect();
        let is_registry = |part: &str| part.contains(['.', ':']) || part == "localhost";
        if !parts.first().is_some_and(|first| parts.len() > 1 && is_registry(first)) {
            if parts.len() == 1 {
                parts.insert(0, DEFAULT_FOLDER);
            }
            parts.insert(0, DEFAULT_REGISTRY);
        }
        let [registry, folders @ ..] = parts.as_slice() else { return Err(wrong()) };
        let allowed = |text: &str, more: &str| {
            !text.is_empty()
                && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let lower = |text: &str| !text.contains(|c: char| c.is_ascii_uppercase());
        let good = allowed(registry, ".-:")
            && !folders.is_empty()
            && folders.iter().all(|folder| allowed(folder, "._-") && lower(folder))
            && allowed(tag, "._-")
            && tag.len() <= MAX_TAG;
        if !good {
            return Err(wrong());
        }
        Ok(Self { repository: parts.join("/"), tag: tag.to_owned() })
    }

    /// Returns registry, path and tag.
    pub(crate) fn full(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }

    /// Returns only the tag.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_as_engines_do_it() {
        for (text, full) in [
            ("localhost/plumbline:v1", "localhost/plumbline:v1"),
            ("plumbline", "docker.io/library/plumbline:latest"),
            ("me/plumbline:e2e", "docker.io/me/plumbline:e2e"),
            ("registry.example:5000/a/b", "registry.example:5000/a/b:latest"),
        ] {
            assert_eq!(Reference::parse(text).unwrap().full(), full);
        }
    }

    #[test]
    fn invalid_image_references_are_rejected() {
        for text in ["", "UPPER", "a//b", "a:", "a b", "localhost/", "a:-", "../x", "a@sha256:00"] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }
}

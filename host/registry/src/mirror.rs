//! Mirrors: registries that are read instead of others.

use crate::error::Cause;
use crate::reference::{Reference, check_registry, is_repository};

/// Environment variable with mirrors, separated by commas.
pub const MIRRORS_VARIABLE: &str = "PLUMBLINE_REGISTRY_MIRRORS";

/// A mirror rule for a registry, or for a prefix of its repository names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    from: Below,
    to: Below,
}

/// A registry, with an optional prefix of repository names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Below {
    registry: String,
    path: Vec<String>,
}

impl Mirror {
    /// Parses `HOST[:PORT][/PATH]=HOST[:PORT][/PATH]`.
    pub(crate) fn parse(text: &str) -> Result<Self, Cause> {
        let wrong = |why: &str| {
            Cause::Setting(format!(
                "`{}` is not a mirror: {why}; write `HOST=HOST[:PORT][/PATH]`, such as `registry.k8s.io=127.0.0.1:5000`",
                plumbline_core::text::excerpt(text, 200)
            ))
        };
        let (from, to) = text.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
        let below = |text: &str| {
            let mut parts = text.trim().trim_end_matches('/').split('/').map(str::to_owned);
            let registry = parts.next().unwrap_or_default();
            let path: Vec<String> = parts.collect();
            check_registry(&registry).map_err(|error| wrong(&error.to_string()))?;
            if !path.is_empty() && !is_repository(&path.join("/")) {
                return Err(wrong("what follows a host is not a beginning of a name"));
            }
            Ok(Below { registry: canonical(&registry), path })
        };
        let mirror = Self { from: below(from)?, to: below(to)? };
        // A repository whose name equals the left side would have an empty name at the mirror.
        if !mirror.from.path.is_empty() && mirror.to.path.is_empty() {
            return Err(wrong("a part of a registry is mirrored below a name, and the right side has none"));
        }
        Ok(mirror)
    }

    /// Returns the location of `reference` at this mirror, with the number of matching name
    /// components. `None` if the rule does not match.
    fn find(&self, reference: &Reference) -> Option<(usize, Reference)> {
        if canonical(reference.registry()) != self.from.registry {
            return None;
        }
        let mut rest = reference.repository().split('/');
        if !self.from.path.iter().all(|part| rest.next() == Some(part.as_str())) {
            return None;
        }
        let path: Vec<&str> = self.to.path.iter().map(String::as_str).chain(rest).collect();
        Some((self.from.path.len(), reference.moved(&self.to.registry, &path.join("/"))))
    }
}

/// Returns the canonical name of a registry. Docker Hub has two names.
fn canonical(registry: &str) -> String {
    let registry = registry.to_ascii_lowercase();
    if registry == "index.docker.io" { "docker.io".to_owned() } else { registry }
}

/// Returns the location from which `reference` is read: the mirror with the longest match, or its
/// own registry. Mirrors are not applied to the result again.
pub(crate) fn mirrored(mirrors: &[Mirror], reference: &Reference) -> Reference {
    let found = mirrors.iter().filter_map(|mirror| mirror.find(reference)).max_by_key(|(length, _)| *length);
    found.map_or_else(|| reference.clone(), |(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mirrors: &[&str], reference: &str) -> String {
        let mirrors: Vec<Mirror> = mirrors.iter().map(|text| Mirror::parse(text).unwrap()).collect();
        mirrored(&mirrors, &reference.parse().unwrap()).bare()
    }

    #[test]
    fn the_longest_beginning_counts() {
        let mirrors =
            ["registry.k8s.io=127.0.0.1:5000", "registry.k8s.io/sig-storage=lan/storage", "docker.io=lan/hub/"];
        assert_eq!(at(&mirrors, "registry.k8s.io/pause:3.9"), "127.0.0.1:5000/pause:3.9");
        assert_eq!(at(&mirrors, "registry.k8s.io/sig-storage/x:1"), "lan/storage/x:1");
        assert_eq!(at(&mirrors, "registry.k8s.io/sig-storage-x:1"), "127.0.0.1:5000/sig-storage-x:1");
        assert_eq!(at(&mirrors, "index.docker.io/library/busybox"), "lan/hub/library/busybox");
        assert_eq!(at(&mirrors, "quay.io/a/b:1"), "quay.io/a/b:1");
        let digest = format!("registry.k8s.io/a@sha256:{}", "0".repeat(64));
        assert_eq!(at(&mirrors, &digest), digest.replace("registry.k8s.io", "127.0.0.1:5000"));
    }

    #[test]
    fn what_is_no_mirror_is_told() {
        for wrong in ["", "a", "=b", "a=", "http://a=b", "a=b/C", "a/x=b", "a b=c"] {
            let told = Mirror::parse(wrong).unwrap_err().to_string();
            assert!(told.contains("is not a mirror"), "{wrong}: {told}");
        }
    }
}

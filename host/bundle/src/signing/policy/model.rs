//! Keys and rules of a policy.

use std::ffi::OsStr;
use std::path::PathBuf;

use globset::GlobSet;
use jiff::Timestamp;

use crate::signing::key::PublicKey;

/// A key in the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Name of the key in the policy.
    pub name: String,
    /// The key.
    pub key: PublicKey,
    /// Time after which the key is no longer trusted. `None` if it does not expire.
    pub not_after: Option<Timestamp>,
}

/// A rule that says which keys are trusted for which names.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) names: GlobSet,
    /// Indices into the policy's keys.
    pub(super) keys: Vec<usize>,
}

/// A policy: which keys are trusted for which names.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(super) keys: Vec<TrustedKey>,
    pub(super) rules: Vec<Rule>,
    /// Whether every key is trusted for every name, regardless of the rules.
    pub(super) all: bool,
}

impl Policy {
    /// Returns a policy that trusts one key for every name, for verification with a given key.
    #[must_use]
    pub fn of_key(name: &str, key: PublicKey) -> Self {
        Self { keys: vec![TrustedKey { name: name.to_owned(), key, not_after: None }], rules: Vec::new(), all: true }
    }

    /// Returns the keys that are trusted for the bundle `name`: those of the first rule that
    /// matches the name or the repository of `reference`. `reference` (`oci://…`) is the registry
    /// reference that the bundle came from, if any. `None` if no rule matches, so no key is
    /// trusted.
    #[must_use]
    pub fn keys_for(&self, name: &str, reference: Option<&str>) -> Option<Vec<&TrustedKey>> {
        if self.all {
            return Some(self.keys.iter().collect());
        }
        let repository = reference.map(repository);
        let matches = |rule: &&Rule| {
            rule.names.is_match(name) || repository.is_some_and(|repository| rule.names.is_match(repository))
        };
        let rule = self.rules.iter().find(matches)?;
        Some(rule.keys.iter().filter_map(|&at| self.keys.get(at)).collect())
    }
}

/// Returns a reference without tag and digest, because trust does not depend on the version.
fn repository(reference: &str) -> &str {
    let named = reference.split_once('@').map_or(reference, |(named, _)| named);
    match named.rsplit_once(':') {
        // The colon is not the one of a port or a scheme.
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => named,
    }
}

/// Returns the default path of the policy: `plumbline/policy.yaml` below `$XDG_CONFIG_HOME`, or
/// below `~/.config`. `None` if the user has no home directory.
#[must_use]
pub fn default_policy_path(config_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |dir: &OsStr| Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute());
    let config = config_home.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".config")))?;
    Some(config.join("plumbline/policy.yaml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_and_digest_do_not_belong_to_the_repository() {
        for (reference, wanted) in [
            ("oci://r.example/team/tap:1.2@sha256:00", "oci://r.example/team/tap"),
            ("oci://r.example:5000/team/tap", "oci://r.example:5000/team/tap"),
            ("oci://r.example:5000/tap:1", "oci://r.example:5000/tap"),
            ("oci://r.example/tap@sha256:00", "oci://r.example/tap"),
        ] {
            assert_eq!(repository(reference), wanted, "{reference}");
        }
    }

    #[test]
    fn the_policy_is_below_the_configuration() {
        let path = |config: Option<&str>, home: Option<&str>| {
            default_policy_path(config.map(OsStr::new), home.map(OsStr::new))
        };
        assert_eq!(path(Some("/c"), Some("/h")), Some("/c/plumbline/policy.yaml".into()));
        assert_eq!(path(Some("c"), Some("/h")), Some("/h/.config/plumbline/policy.yaml".into()));
        assert_eq!(path(None, None), None);
    }
}

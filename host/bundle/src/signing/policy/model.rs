//! Keys and rules.

use std::ffi::OsStr;
use std::path::PathBuf;

use globset::GlobSet;
use jiff::Timestamp;

use crate::signing::key::PublicKey;

/// A key that the policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// What the policy calls it.
    pub name: String,
    /// The key.
    pub key: PublicKey,
    /// Until when it counts. `None`: for ever.
    pub not_after: Option<Timestamp>,
}

/// Which keys count for which names.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) names: GlobSet,
    /// Indices into the policy's keys.
    pub(super) keys: Vec<usize>,
}

/// Whose signatures count for what.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(super) keys: Vec<TrustedKey>,
    pub(super) rules: Vec<Rule>,
    /// Every key counts for every name, whatever the rules say.
    pub(super) all: bool,
}

impl Policy {
    /// One key, for every name: what is verified with a key at hand.
    #[must_use]
    pub fn of_key(name: &str, key: PublicKey) -> Self {
        Self { keys: vec![TrustedKey { name: name.to_owned(), key, not_after: None }], rules: Vec::new(), all: true }
    }

    /// The keys that count for the bundle `name`, which came from `reference` (`oci://…`) if it came from a registry: those of the first
    /// rule that matches either. `None`: no rule does, so nobody may sign it.
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

/// A reference without tag and digest: who may sign does not depend on the version.
fn repository(reference: &str) -> &str {
    let named = reference.split_once('@').map_or(reference, |(named, _)| named);
    match named.rsplit_once(':') {
        // Not the port of a host, nor the scheme.
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => named,
    }
}

/// Where the policy is if nobody says: `plumbline/policy.yaml` below `$XDG_CONFIG_HOME`, or below `~/.config`. `None` without a home.
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

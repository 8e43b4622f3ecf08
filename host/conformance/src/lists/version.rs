//! Versions of lists.

use std::cmp::Ordering;

/// A parsed version: three numbers and an optional pre-release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    numbers: [u64; 3],
    pre_release: Option<String>,
}

/// Maximum length of a version in bytes. A longer string is neither a version nor a file name.
const MAX_LENGTH: usize = 64;
/// Prefixes of Kubernetes' own pre-releases. Any other suffix is from a vendor.
const PRE_RELEASES: [&str; 3] = ["alpha", "beta", "rc"];

impl Version {
    /// Parses `v1.30.2`, with or without `v`, or a Kubernetes pre-release. Suffixes of vendors
    /// after `+` or `-` are dropped.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (numbers, pre) = text.split_once('-').map_or((text, None), |(numbers, pre)| (numbers, Some(pre)));
        let mut parts = numbers.split('.');
        let mut next = || parts.next()?.parse::<u64>().ok();
        let numbers = [next()?, next()?, next().unwrap_or_default()];
        if parts.next().is_some() {
            return None;
        }
        let plain = |pre: &str| !pre.is_empty() && pre.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
        if !pre.is_none_or(plain) {
            return None;
        }
        let pre = pre.filter(|pre| PRE_RELEASES.iter().any(|known| pre.starts_with(known)));
        Some(Self { numbers, pre_release: pre.map(str::to_owned) })
    }

    /// Returns the canonical name, as used for lists: `v1.30.2`.
    pub(super) fn name(&self) -> String {
        let [major, minor, patch] = self.numbers;
        let pre = self.pre_release.as_ref().map_or_else(String::new, |pre| format!("-{pre}"));
        format!("v{major}.{minor}.{patch}{pre}")
    }

    fn minor(&self) -> (u64, u64) {
        let [major, minor, _] = self.numbers;
        (major, minor)
    }

    pub(super) fn same_minor(&self, other: &Self) -> bool {
        self.minor() == other.minor()
    }

    /// Returns the distance in patch releases between two versions of the same minor version, and
    /// whether their pre-releases differ.
    fn patches(&self, other: &Self) -> (u64, bool) {
        let ([_, _, patch], [_, _, other_patch]) = (self.numbers, other.numbers);
        (patch.abs_diff(other_patch), self.pre_release != other.pre_release)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release is greater than its pre-releases.
        let pre = |version: &Self| (version.pre_release.is_none(), version.pre_release.as_deref().map(parts));
        self.numbers.cmp(&other.numbers).then_with(|| pre(self).cmp(&pre(other))).then_with(|| {
            // Different spellings such as `rc.1` and `rc.01` must not be equal.
            self.pre_release.cmp(&other.pre_release)
        })
    }
}

/// Splits a pre-release into comparable parts: `rc.10` is greater than `rc.9`, and numbers are less
/// than words (semver.org, 11).
fn parts(pre: &str) -> Vec<(bool, u64, String)> {
    let part = |part: &str| match part.parse() {
        Ok(number) => (false, number, String::new()),
        Err(_) => (true, 0, part.to_owned()),
    };
    pre.split('.').map(part).collect()
}

/// Returns the version in `known` that is closest to `version` within the same minor version. Of
/// two at the same distance, it returns the later one.
pub(super) fn closest<'a>(version: &Version, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter().filter_map(|name| Some((Version::parse(name)?, name)));
    let known = known.filter(|(known, _)| known.same_minor(version));
    let closest = known.min_by(|(a, _), (b, _)| a.patches(version).cmp(&b.patches(version)).then_with(|| b.cmp(a)));
    closest.map(|(_, name)| name)
}

/// Returns the latest version in `known` that is older than `version`.
pub(super) fn older<'a>(version: &Version, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    latest(known.into_iter().filter(|name| Version::parse(name).is_some_and(|known| known < *version)))
}

/// Returns the latest version in `known`. Invalid versions are ignored.
pub(super) fn latest<'a>(known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter().filter_map(|name| Some((Version::parse(name)?, name)));
    known.max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, name)| name)
}

/// Formats versions for a message, newest first and limited in number.
pub(super) fn listed<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    /// Maximum number of versions in a message.
    const SHOWN: usize = 12;
    let mut known: Vec<_> = known.into_iter().filter_map(|name| Some((Version::parse(name)?, name))).collect();
    known.sort_by(|(a, _), (b, _)| b.cmp(a));
    let names: Vec<&str> = known.iter().take(SHOWN).map(|(_, name)| *name).collect();
    match known.len().saturating_sub(names.len()) {
        0 if names.is_empty() => "none".to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_clusters_say_them() {
        let name = |text| Version::parse(text).map(|version| version.name());
        assert_eq!(name("v1.30.2"), Some("v1.30.2".to_owned()));
        assert_eq!(name("1.30.2+k3s1"), Some("v1.30.2".to_owned()));
        assert_eq!(name("v1.31.0-rc.1"), Some("v1.31.0-rc.1".to_owned()));
        assert_eq!(name("v1.15.10-eks-bac369"), Some("v1.15.10".to_owned()));
        assert_eq!(name("v1.30"), Some("v1.30.0".to_owned()));
        for bad in ["", "v", "v1", "1.2.3.4", "v1.x.2", "../v1.2.3", "v1.2.3-../..", "v1.2.3-", "ignore"] {
            assert_eq!(name(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_closest_is_of_the_same_minor_version() {
        let known = ["v1.29.6", "v1.30.1", "v1.30.5", "v1.31.0", "v1.31.0-rc.1", "README"];
        let closest = |version| closest(&Version::parse(version)?, known);
        assert_eq!(closest("v1.30.1"), Some("v1.30.1"));
        assert_eq!(closest("v1.30.3"), Some("v1.30.5"), "equally far: the later one");
        assert_eq!(closest("v1.30.99"), Some("v1.30.5"));
        assert_eq!(closest("v1.31.4"), Some("v1.31.0"));
        assert_eq!(closest("v1.32.0"), None);
        let older = |version| older(&Version::parse(version)?, known);
        assert_eq!(older("v1.32.0"), Some("v1.31.0"));
        assert_eq!(older("v1.30.0"), Some("v1.29.6"));
        assert_eq!(older("v1.28.1"), None);
        assert_eq!(closest("nonsense"), None);
        assert_eq!(latest(known), Some("v1.31.0"));
        assert_eq!(latest(["v1.31.0-rc.9", "v1.31.0-rc.10", "v1.31.0-beta.11"]), Some("v1.31.0-rc.10"));
    }
}

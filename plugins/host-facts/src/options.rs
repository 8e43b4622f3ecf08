//! What a definition may set.

use plumbline_sdk::Status;
use serde::Deserialize;

use crate::WARNING;

/// The module's options, `plumbline.options` in a definition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// A certificate that expires within so many days is a `warning`; one that has expired is `failed` in any case. Default 30: time
    /// enough to renew it in working hours.
    pub certificate_days: f64,
    /// A file system of which so many per cent are used is a `warning`, inodes likewise. Default 85: where a kubelet begins to remove
    /// images by default.
    pub disk_percent: f64,
    /// A clock that is off by more than so many seconds is a `warning`. Default 0.5: well below what leases and tokens bear.
    pub clock_offset_seconds: f64,
    /// What drift is.
    pub drift: DriftStatus,
    /// Facts that are not compared, as they are called in the items' meta `fact`; `*` stands for any text.
    pub ignore: Vec<String>,
}

/// The status of a fact that differs between nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftStatus {
    /// `warning`: it is seen, and the run passes.
    #[default]
    Warn,
    /// `failed`: the run fails.
    Fail,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            certificate_days: 30.0,
            disk_percent: 85.0,
            clock_offset_seconds: 0.5,
            drift: DriftStatus::Warn,
            ignore: Vec::new(),
        }
    }
}

impl Options {
    /// Whether `fact` is not compared.
    #[must_use]
    pub fn ignores(&self, fact: &str) -> bool {
        self.ignore.iter().any(|pattern| matches(pattern, fact))
    }
}

impl DriftStatus {
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Warn => Status::Custom(WARNING.to_owned()),
            Self::Fail => Status::Failed,
        }
    }

    /// The detail under which the reason stands.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Warn => WARNING,
            Self::Fail => "failure",
        }
    }
}

/// `*` stands for any text. Takes time in proportion to both lengths: the pieces between the stars are looked for one after the other.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = text.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, fits) in [
            ("kernel", "kernel", true),
            ("kernel", "kernel 2", false),
            ("sysctl *", "sysctl vm.swappiness", true),
            ("*.swappiness", "sysctl vm.swappiness", true),
            ("sysctl *.conf.*.rp_filter", "sysctl net.ipv4.conf.all.rp_filter", true),
            ("sysctl *.conf.*.rp_filter", "sysctl net.ipv4.conf.rp_filter", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}

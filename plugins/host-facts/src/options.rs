//! The options of the module.

use plumbline_drift_common::DriftStatus;
use plumbline_sdk::text::matches;
use serde::Deserialize;

/// The module's options, `plumbline.options` in a definition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// Number of days before its expiry from which a certificate is a `warning`. An expired
    /// certificate is always `failed`. The default is 30, which leaves time to renew it in working
    /// hours.
    pub certificate_days: f64,
    /// Percentage of used space or inodes from which a file system is a `warning`. The default is
    /// 85, at which a kubelet removes images by default.
    pub disk_percent: f64,
    /// Clock offset in seconds above which the clock is a `warning`. The default is 0.5, well below
    /// what leases and tokens tolerate.
    pub clock_offset_seconds: f64,
    /// The status of a fact that differs between nodes.
    pub drift: DriftStatus,
    /// Facts that are not compared, as named in the items' metadata `fact`. `*` matches any text.
    pub ignore: Vec<String>,
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
    /// Returns whether `fact` is excluded from the comparison.
    #[must_use]
    pub fn ignores(&self, fact: &str) -> bool {
        self.ignore.iter().any(|pattern| matches(pattern, fact))
    }
}

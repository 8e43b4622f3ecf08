//! The options of the module.

use plumbline_sdk::Status;
use plumbline_sdk::text::matches;
use serde::Deserialize;

use crate::priority::{self, Counts};

/// Maximum number of patterns in `units`, because each one is compared with every unit.
const MAX_PATTERNS: usize = 256;

/// The maximum values of the options.
const MAX_UNITS: usize = 1000;
const MAX_MESSAGES: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Options {
    fail_on: Option<String>,
    units: Vec<String>,
    pub(crate) max_units: usize,
    pub(crate) max_messages: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { fail_on: None, units: Vec::new(), max_units: 50, max_messages: 5 }
    }
}

/// The options after checking their limits.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The weakest priority that fails a unit.
    pub(crate) fail_on: Option<usize>,
    units: Vec<String>,
    pub(crate) max_units: usize,
    pub(crate) max_messages: usize,
}

impl Options {
    pub(crate) fn checked(self) -> Result<Checked, String> {
        let too_many = |option: &str, has: usize, most: usize| {
            Err(format!("the module's option `{option}` is {has}: at most {most} are possible"))
        };
        if self.units.len() > MAX_PATTERNS {
            return too_many("units", self.units.len(), MAX_PATTERNS);
        }
        if self.max_units > MAX_UNITS {
            return too_many("max-units", self.max_units, MAX_UNITS);
        }
        if self.max_messages > MAX_MESSAGES {
            return too_many("max-messages", self.max_messages, MAX_MESSAGES);
        }
        let fail_on = match self.fail_on.as_deref() {
            None | Some("never") => None,
            Some(name) => Some(priority::number(name).ok_or_else(|| {
                format!(
                    "the module's option `fail-on` is `{name}`, which is not a priority: write one of `never`, `{}`",
                    priority::NAMES.join("`, `")
                )
            })?),
        };
        Ok(Checked { fail_on, units: self.units, max_units: self.max_units, max_messages: self.max_messages })
    }
}

impl Checked {
    /// Returns the weakest priority whose units are shown.
    pub(crate) fn shown(&self) -> usize {
        self.fail_on.map_or(priority::ERR, |priority| priority.max(priority::ERR))
    }

    /// Returns the status of units that are not distinguished, if they have an entry that fails a
    /// unit. It is unknown whether `units` selects them.
    pub(crate) fn undistinguished(&self, counts: &Counts) -> Option<Status> {
        self.fail_on.filter(|priority| counts.at_least(*priority) > 0)?;
        Some(if self.units.is_empty() { Status::Failed } else { Status::Unknown })
    }

    /// Returns the weakest priority that fails this unit.
    pub(crate) fn fails(&self, unit: &str) -> Option<usize> {
        let chosen = self.units.is_empty() || self.units.iter().any(|pattern| matches(pattern, unit));
        self.fail_on.filter(|_| chosen)
    }
}

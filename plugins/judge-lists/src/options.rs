//! The options of an entry of the chain.

use serde::Deserialize;

use crate::date::Date;

/// The options of an entry. The judge's name decides which of them are allowed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// The date to compare `until` with. All these judges accept it, because the host sets it for
    /// every judge that has the option.
    today: Option<String>,
    /// For `allowed-skips`: the tests that must not be skipped. The default is all tests.
    pub(crate) required: Option<String>,
    /// For `baseline`: the failures of the earlier run.
    pub(crate) failed: Option<Vec<String>>,
    /// For `baseline`: the earlier run.
    pub(crate) source: Option<String>,
    /// For `baseline`: how to rule on other failures.
    pub(crate) others: Option<Others>,
}

/// The ruling of `baseline` on failures that it does not list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Others {
    /// They are new failures.
    #[default]
    NewFailure,
    /// No ruling, so that a later judge can decide.
    Leave,
}

impl Options {
    /// Returns the date.
    pub(crate) fn today(&self) -> Result<Option<Date>, String> {
        let Some(text) = &self.today else { return Ok(None) };
        match Date::parse(text) {
            Some(date) => Ok(Some(date)),
            None => Err(format!("option `today` is not a day such as 2027-03-31, but `{text}`")),
        }
    }

    /// Returns an error if an option is set that the judge `name` does not have.
    pub(crate) fn only_for(&self, name: &str) -> Result<(), String> {
        let set = [
            ("required", "allowed-skips", self.required.is_some()),
            ("failed", "baseline", self.failed.is_some()),
            ("source", "baseline", self.source.is_some()),
            ("others", "baseline", self.others.is_some()),
        ];
        match set.into_iter().find(|(_, owner, set)| *set && *owner != name) {
            Some((option, owner, _)) => Err(format!("option `{option}` is for the judge `{owner}`, not for `{name}`")),
            None => Ok(()),
        }
    }
}

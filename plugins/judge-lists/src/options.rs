//! What an entry of the chain may set.

use serde::Deserialize;

use crate::date::Date;

/// The options of an entry. Which of them a judge takes depends on the name by which it is called.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// The day that `until` is compared with. Any judge takes it: the host gives it to each that knows it.
    today: Option<String>,
    /// `allowed-skips`: which tests must not be skipped. Without it, all.
    pub(crate) required: Option<String>,
    /// `baseline`: what failed before.
    pub(crate) failed: Option<Vec<String>>,
    /// `baseline`: where it failed.
    pub(crate) source: Option<String>,
    /// `baseline`: what becomes of other failures.
    pub(crate) others: Option<Others>,
}

/// What `baseline` says of failures that are not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Others {
    /// That they are new.
    #[default]
    NewFailure,
    /// Nothing: a later judge is to say.
    Leave,
}

impl Options {
    /// The day.
    pub(crate) fn today(&self) -> Result<Option<Date>, String> {
        let Some(text) = &self.today else { return Ok(None) };
        match Date::parse(text) {
            Some(date) => Ok(Some(date)),
            None => Err(format!("option `today` is not a day such as 2027-03-31, but `{text}`")),
        }
    }

    /// An error if an option is set that the judge `name` does not take.
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

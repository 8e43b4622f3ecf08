//! What a run sets: a mode, and values of options.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_core::closest;
use plumbline_core::definition::SuiteRun;
use plumbline_core::text::shortened;

use super::model::{OptionType, Profile, ProfileMode, ProfileOption, VERSION_PLACEHOLDER, Version, is_version};
use super::value::ValueError;

/// A value that a user gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Name of the option.
    pub name: String,
    /// The value, or the content of the file.
    pub value: String,
    /// Whether the value is the content of a file.
    pub from_file: bool,
}

/// Error for a mode or values that do not fit a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The profile has no such option.
    #[error("profile `{profile}` has no option `{name}`{}", meant(.near))]
    UnknownOption {
        /// Name of the profile.
        profile: String,
        /// The name that was given.
        name: String,
        /// The nearest name.
        near: Option<String>,
    },
    /// The profile has no such mode.
    #[error("profile `{profile}` has no mode `{name}`{}", meant(.near))]
    UnknownMode {
        /// Name of the profile.
        profile: String,
        /// The name that was given.
        name: String,
        /// The nearest name.
        near: Option<String>,
    },
    /// A required option has no value.
    #[error("option `{name}` of profile `{profile}` has no value: {help}")]
    Missing {
        /// Name of the profile.
        profile: String,
        /// Name of the option.
        name: String,
        /// What the option does.
        help: String,
    },
    /// A value does not fit the type of its option.
    #[error("invalid value of option `{name}`: {source}")]
    Value {
        /// Name of the profile.
        profile: String,
        /// Name of the option.
        name: String,
        /// The reason.
        source: ValueError,
    },
    /// The version in the cluster is not one.
    #[error("`{0}` is not a version: expected letters, digits, `.`, `-`, `_` and `+`, at most 63 of them")]
    Version(String),
    /// An option has several values.
    #[error("option `{0}` has several values")]
    Twice(String),
    /// A value was given for an option that takes the content of a file.
    #[error("option `{0}` takes the content of a file")]
    NeedsFile(String),
    /// Failed tests run again, and an option selects tests too.
    #[error("option `{0}` selects tests, and failed tests of an archive are selected already")]
    SelectedTwice(String),
    /// The profile has no option that selects tests.
    #[error("the suite of profile `{0}` cannot select tests by their names")]
    NoSelection(String),
    /// The value of a secret was given on the command line.
    #[error("option `{0}` is a secret, and other users of this machine can read command lines")]
    Secret(String),
}

impl SettingsError {
    /// Returns a hint with the fix.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownOption { profile, .. } | Self::UnknownMode { profile, .. } | Self::Value { profile, .. } => {
                format!("`plumbline conformance show {profile}` lists options, their types, and modes")
            }
            Self::Missing { name, .. } => format!("add `--set {name}=VALUE`"),
            Self::Version(_) => "correct the annotation, or install the custom resource definitions again".to_owned(),
            Self::Twice(name) => format!("give `{name}` once"),
            Self::SelectedTwice(name) => format!("leave out `--set {name}=…`, or `--rerun-failed`"),
            Self::NoSelection(_) => "run the whole suite again".to_owned(),
            Self::NeedsFile(name) | Self::Secret(name) => {
                format!("write the value into a file, and add `--set-file {name}=FILE`")
            }
        }
    }
}

fn meant(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

/// A mode and the values of all options that have one. Each value was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<'a> {
    pub(crate) profile: &'a Profile,
    mode: Option<&'a ProfileMode>,
    values: BTreeMap<&'a str, String>,
    /// The options whose values come from the user, sorted.
    given: BTreeSet<&'a str>,
    /// Whether only failed tests of another run are selected.
    rerun: bool,
    /// The version that the cluster has. `None` until it is set.
    cluster_version: Option<String>,
}

impl<'a> Settings<'a> {
    /// Chooses the values of a run: those that the user gives, then those of the mode, then
    /// defaults. Without a mode, that is the default mode of the profile.
    pub fn choose(profile: &'a Profile, mode: Option<&str>, given: &[Given]) -> Result<Self, SettingsError> {
        match mode {
            None => Self::set(profile, profile.default_mode(), given),
            Some(name) => Self::set(profile, Some(find_mode(profile, name)?), given),
        }
    }

    /// Chooses values as [`choose`](Self::choose) does, but without the default mode: what nobody
    /// sets stays as a definition has it that people edit.
    pub fn choose_changes(profile: &'a Profile, mode: Option<&str>, given: &[Given]) -> Result<Self, SettingsError> {
        Self::set(profile, mode.map(|name| find_mode(profile, name)).transpose()?, given)
    }

    fn set(profile: &'a Profile, mode: Option<&'a ProfileMode>, given: &[Given]) -> Result<Self, SettingsError> {
        let (mut values, mut by_user) = (BTreeMap::new(), BTreeSet::new());
        for option in &profile.options {
            let preset = mode.and_then(|mode| mode.set.get(&option.name)).or(option.default.as_ref());
            if let Some(text) = preset {
                values.insert(option.name.as_str(), checked(profile, option, text)?);
            }
        }
        for (name, text) in collected(profile, given)? {
            let option = find_option(profile, &name)?;
            values.insert(option.name.as_str(), checked(profile, option, &text)?);
            by_user.insert(option.name.as_str());
        }
        let missing = |option: &&ProfileOption| option.required && !values.contains_key(option.name.as_str());
        match profile.options.iter().find(missing) {
            None => Ok(Self { profile, mode, values, given: by_user, rerun: false, cluster_version: None }),
            Some(option) => Err(SettingsError::Missing {
                profile: profile.name.to_string(),
                name: option.name.clone(),
                help: option.help.clone(),
            }),
        }
    }

    /// Selects the failed tests of another run by an expression, in place of what the mode and
    /// defaults select. The user must not select tests too.
    pub fn select_failed(&mut self, expression: String) -> Result<(), SettingsError> {
        let profile = self.profile;
        let Some(selection) = &profile.selection else {
            return Err(SettingsError::NoSelection(profile.name.to_string()));
        };
        for name in selection.options() {
            if self.given.contains(name) {
                return Err(SettingsError::SelectedTwice(name.to_owned()));
            }
            // An empty value removes the variable, also that of the definition.
            self.values.insert(name, String::new());
        }
        self.values.insert(&selection.focus, expression);
        self.rerun = true;
        Ok(())
    }

    /// Returns whether only failed tests of another run are selected.
    pub(crate) fn is_rerun(&self) -> bool {
        self.rerun
    }

    /// Returns the value of the option with this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns the profile.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// Returns the mode.
    pub fn mode(&self) -> Option<&ProfileMode> {
        self.mode
    }

    /// Returns the options that have a value, in the order of the profile.
    pub fn values(&self) -> impl Iterator<Item = (&'a ProfileOption, &str)> {
        let value = |option: &'a ProfileOption| Some((option, self.values.get(option.name.as_str())?.as_str()));
        self.profile.options.iter().filter_map(value)
    }

    /// Replaces the values of paths. `change` gets the option and the path as it was given.
    pub fn resolve_paths<E>(
        &mut self,
        mut change: impl FnMut(&ProfileOption, &str) -> Result<String, E>,
    ) -> Result<(), E> {
        for option in self.profile.options.iter().filter(|option| option.kind == OptionType::Path) {
            if let Some(value) = self.values.get_mut(option.name.as_str()) {
                *value = change(option, value)?;
            }
        }
        Ok(())
    }

    /// Sets the version that was found in the cluster, for a profile whose version the cluster
    /// decides.
    ///
    /// # Errors
    /// Returns a [`SettingsError`] if the text is not a version. It becomes part of file names.
    pub fn set_cluster_version(&mut self, version: &str) -> Result<(), SettingsError> {
        if !is_version(version) {
            return Err(SettingsError::Version(shortened(version, 100)));
        }
        self.cluster_version = Some(version.to_owned());
        Ok(())
    }

    /// Returns the version of the suite. It is empty if the cluster decides it, and it was not set.
    pub fn version(&self) -> &str {
        match &self.profile.version {
            Version::Fixed(text) => text,
            // Such an option has a default or is required.
            Version::Option(name) => self.values.get(name.as_str()).map(String::as_str).unwrap_or_default(),
            Version::Cluster | Version::Crd { .. } => self.cluster_version.as_deref().unwrap_or_default(),
        }
    }

    /// Returns what the archive of the run says about these settings.
    pub fn suite_run(&self) -> SuiteRun {
        SuiteRun {
            version: Some(self.version().to_owned()).filter(|version| !version.is_empty()),
            mode: self.mode.map(|mode| mode.name.clone()),
            set: self.given.iter().map(|&name| name.to_owned()).collect(),
            rerun: self.rerun,
            unset: Vec::new(),
        }
    }

    /// Returns the file with the tests that must pass in this mode. Its name may have a place for the
    /// version.
    pub fn required(&self) -> Option<&'a str> {
        self.mode.and_then(|mode| mode.required.as_deref())
    }

    /// Returns the name of a file of the profile for this version.
    pub fn of_version(&self, file: &str) -> String {
        file.replace(VERSION_PLACEHOLDER, self.version())
    }

    /// Returns the value that the suite gets in the variable `name`.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.values().find(|(option, _)| option.env.as_deref() == Some(name)).map(|(_, value)| value)
    }
}

fn find_mode<'a>(profile: &'a Profile, name: &str) -> Result<&'a ProfileMode, SettingsError> {
    profile.modes.iter().find(|mode| mode.name == name).ok_or_else(|| SettingsError::UnknownMode {
        profile: profile.name.to_string(),
        name: shortened(name, 100),
        near: closest(name, profile.modes.iter().map(|mode| mode.name.as_str())).map(str::to_owned),
    })
}

fn find_option<'a>(profile: &'a Profile, name: &str) -> Result<&'a ProfileOption, SettingsError> {
    profile.option(name).ok_or_else(|| SettingsError::UnknownOption {
        profile: profile.name.to_string(),
        name: shortened(name, 100),
        near: closest(name, profile.options.iter().map(|option| option.name.as_str())).map(str::to_owned),
    })
}

/// Returns the text of each option that the user gives. Values of a list are joined.
fn collected(profile: &Profile, given: &[Given]) -> Result<BTreeMap<String, String>, SettingsError> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for Given { name, value, from_file } in given {
        let option = find_option(profile, name)?;
        let text = match (&option.kind, from_file) {
            (OptionType::File, false) => return Err(SettingsError::NeedsFile(name.clone())),
            (_, false) if option.secret => return Err(SettingsError::Secret(name.clone())),
            (OptionType::File, true) | (_, false) => value.as_str(),
            // Editors end a file with a line break.
            (_, true) => value.trim_end_matches(['\n', '\r']),
        };
        match texts.get_mut(name) {
            None => drop(texts.insert(name.clone(), text.to_owned())),
            Some(list) if option.kind == OptionType::List => {
                list.push(',');
                list.push_str(text);
            }
            Some(_) => return Err(SettingsError::Twice(name.clone())),
        }
    }
    Ok(texts)
}

fn checked(profile: &Profile, option: &ProfileOption, text: &str) -> Result<String, SettingsError> {
    let wrong = |source| SettingsError::Value { profile: profile.name.to_string(), name: option.name.clone(), source };
    option.kind.checked(text).map_err(wrong)
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;

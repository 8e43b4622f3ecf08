//! The built-in profiles: those that the build found in `plugins/profiles`. No code names one.

use std::sync::LazyLock;

use plumbline_core::closest;
use plumbline_profile::{Profile, ProfileError, ProfileMode};

use crate::error::AppError;

/// The version of a suite that is released with Kubernetes, for people.
pub const CLUSTER_VERSION: &str = "that of the cluster";

/// A profile that is part of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInProfile {
    /// The profile.
    pub profile: Profile,
    /// Name of the built-in plugin that runs its suite.
    pub plugin: &'static str,
}

static ALL: LazyLock<Result<Vec<BuiltInProfile>, ProfileError>> = LazyLock::new(|| {
    let all = plumbline_bundle::built_in::profiles().iter();
    all.map(|found| Ok(BuiltInProfile { profile: Profile::parse(found.profile)?, plugin: found.plugin.name })).collect()
});

/// The built-in profiles.
pub fn built_in() -> Result<&'static [BuiltInProfile], AppError> {
    ALL.as_deref().map_err(|error| AppError::system("a built-in profile is damaged").because(error))
}

/// The built-in profile for the reference of a command. Without a reference, it is the first one.
/// `None` if the reference is another one.
pub fn built_in_for(reference: Option<&str>) -> Result<Option<&'static BuiltInProfile>, AppError> {
    chosen(built_in()?, reference)
}

/// The built-in profile of commands that name none.
pub fn default_profile() -> Result<&'static BuiltInProfile, AppError> {
    first(built_in()?)
}

fn chosen<'a>(all: &'a [BuiltInProfile], reference: Option<&str>) -> Result<Option<&'a BuiltInProfile>, AppError> {
    match reference {
        None => first(all).map(Some),
        Some(name) => Ok(all.iter().find(|built_in| built_in.profile.name.as_str() == name)),
    }
}

fn first(all: &[BuiltInProfile]) -> Result<&BuiltInProfile, AppError> {
    all.first().ok_or_else(|| {
        AppError::usage("no suite selected: this program has no built-in profile").hint(
            "name an installed profile, a directory or a packed bundle; `plumbline conformance list` lists profiles",
        )
    })
}

/// The modes of the default profile.
#[must_use]
pub fn modes() -> &'static [ProfileMode] {
    default_profile().map_or(&[], |built_in| &built_in.profile.modes)
}

/// Help for an option that takes one of these modes.
#[must_use]
pub fn mode_help() -> String {
    help_of(modes())
}

fn help_of(modes: &[ProfileMode]) -> String {
    let names: Vec<String> = modes.iter().map(|mode| format!("`{}`", mode.name)).collect();
    let names = match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => return "Select tests by a mode; this program has no built-in suite".to_owned(),
    };
    let default = modes.iter().find(|mode| mode.default).map(|mode| format!(", `{}`", mode.name));
    format!(
        "Select tests: {names}; `plumbline conformance modes` describes them [default: that of the definition{}]",
        default.unwrap_or_default()
    )
}

/// Appends the name of the default profile to the help of an option, if there is such a profile.
#[must_use]
pub fn with_default_profile(help: &str) -> String {
    match default_profile() {
        Ok(built_in) => format!("{help} [default: {}]", built_in.profile.name),
        Err(_) => help.to_owned(),
    }
}

/// Checks the name of a mode of the default profile.
///
/// # Errors
///
/// The suite has no such mode.
pub fn parse_mode(text: &str) -> Result<String, UnknownMode> {
    match modes().iter().any(|mode| mode.name == text) {
        true => Ok(text.to_owned()),
        false => Err(UnknownMode(text.to_owned())),
    }
}

/// The default profile has no mode of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode{}: the modes are {}", meant(.0), all())]
pub struct UnknownMode(String);

fn meant(typed: &str) -> String {
    let near = closest(typed, modes().iter().map(|mode| mode.name.as_str()));
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn all() -> String {
    modes().iter().map(|mode| format!("`{}`", mode.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::find::{listed_built_in, not_found};

    fn toy(name: &str) -> BuiltInProfile {
        let yaml = format!("name: {name}\ntitle: Toy\nversion: '1'\n");
        BuiltInProfile { profile: Profile::parse(yaml.as_bytes()).unwrap(), plugin: "suite" }
    }

    #[test]
    fn a_program_without_built_in_profiles_asks_for_a_name() {
        let error = chosen(&[], None).unwrap_err();
        assert_eq!(error.summary(), "no suite selected: this program has no built-in profile");
        assert_eq!(chosen(&[], Some("toy")).unwrap(), None);
        assert!(listed_built_in(&[]).is_empty());
        let error = not_found("toy", &[]);
        assert_eq!(error.summary(), "profile `toy` not found");
        assert!(error.hint_text().unwrap().starts_with("it is not in this program, and no profile is installed"));
        assert!(help_of(&[]).contains("no built-in suite"));
    }

    #[test]
    fn the_first_built_in_profile_is_the_default_and_any_can_be_named() {
        let all = [toy("one"), toy("two")];
        let name = |reference| chosen(&all, reference).unwrap().map(|found| found.profile.name.to_string());
        assert_eq!(name(None).as_deref(), Some("one"));
        assert_eq!(name(Some("two")).as_deref(), Some("two"));
        assert_eq!(name(Some("three")), None);
        assert_eq!(listed_built_in(&all).len(), 2);
    }

    #[test]
    fn the_help_lists_the_modes_and_the_default() {
        let yaml = "name: a\ntitle: A\nversion: '1'\nmodes:\n- {name: all, description: d, default: true}\n- {name: few, description: d}\n";
        let modes = Profile::parse(yaml.as_bytes()).unwrap().modes;
        assert_eq!(
            help_of(&modes),
            "Select tests: `all` or `few`; `plumbline conformance modes` describes them [default: that of the definition, `all`]"
        );
    }
}

//! The built-in profiles: those that the build found in `plugins/profiles`. No code names one. The
//! suite of Kubernetes is recognized by the name of its plugin, and has code of its own. The others
//! are bundles.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::LazyLock;

use plumbline_bundle::built_in::BuiltInProfile as BuiltInBundle;
use plumbline_bundle::profile::{Listing, PROFILE_FILE, Profile, ProfileError, ProfileMode};
use plumbline_conformance::images::is_suite;
use plumbline_conformance::lists::Embedded;
use plumbline_core::closest;
use plumbline_core::definition::{Definition, K8S_VERSION_VARIABLE};

use crate::error::AppError;

/// Name of the built-in plugin that runs the suite of Kubernetes. Its image may be another one.
const SUITE: &str = "e2e";

/// The version of a suite that is released with Kubernetes, for people.
pub const CLUSTER_VERSION: &str = "that of the cluster";

/// A profile that is part of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInProfile {
    /// The profile.
    pub profile: Profile,
    /// Name of the built-in plugin that runs its suite.
    pub plugin: &'static str,
    /// Whether its suite is that of Kubernetes.
    pub(super) is_suite: bool,
    bundle: BuiltInBundle,
}

impl BuiltInProfile {
    fn read(bundle: &BuiltInBundle) -> Result<Self, ProfileError> {
        let definition = bundle.plugin.cluster.and_then(|yaml| Definition::parse(yaml).ok());
        Ok(Self {
            profile: Profile::parse(bundle.profile)?,
            plugin: bundle.plugin.name,
            is_suite: definition.is_some_and(|parsed| parsed.definition.name.as_str() == SUITE),
            bundle: *bundle,
        })
    }

    /// Writes the files of its bundle to `dir`. The build does not keep which files are executable, but
    /// their first bytes say so.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let definition = self.bundle.plugin.cluster.unwrap_or_default().as_bytes();
        let own = [("plugin.yaml", definition), (PROFILE_FILE, self.bundle.profile)];
        for (name, bytes) in own.iter().chain(self.bundle.files) {
            let path = dir.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, bytes)?;
            if bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF") {
                fs::set_permissions(&path, Permissions::from_mode(0o755))?;
            }
        }
        Ok(())
    }

    /// The lists of its tests.
    #[must_use]
    pub fn tests(&self) -> Embedded<'static> {
        self.lists(self.profile.tests.as_deref())
    }

    /// The lists of the tests that a submission must have passed.
    #[must_use]
    pub fn required(&self) -> Embedded<'static> {
        self.lists(self.profile.submitted_mode().and_then(|mode| mode.required.as_deref()))
    }

    fn lists(&self, file: Option<&str>) -> Embedded<'static> {
        Embedded::new(file.map(|file| self.bundle.by_version(file)).unwrap_or_default())
    }

    /// The image of its suite for a version of Kubernetes. `None` if its definition names none.
    #[must_use]
    pub fn image(&self, version: &str) -> Option<String> {
        let definition = Definition::parse(self.bundle.plugin.cluster?).ok()?.definition;
        Some(definition.spec.image()?.replace(K8S_VERSION_VARIABLE, version))
    }
}

/// The plugin of the first built-in profile. `None` if this program has no such profile. A damaged
/// profile is an error, because a run without its suite could pass.
pub(crate) fn default_plugin() -> Result<Option<&'static str>, AppError> {
    plugin_of(&ALL)
}

fn plugin_of(all: &ReadProfiles) -> Result<Option<&'static str>, AppError> {
    Ok(undamaged(all)?.first().map(|built_in| built_in.plugin))
}

/// The plugin of the suite of Kubernetes. `None` if this program does not contain the suite.
pub(crate) fn suite_plugin() -> Result<Option<&'static str>, AppError> {
    Ok(suite_in(built_in()?).map(|suite| suite.plugin))
}

/// The lists of the tests of Kubernetes. There are none if this program does not contain the suite.
pub fn suite_tests() -> Result<Embedded<'static>, AppError> {
    Ok(suite_in(built_in()?).map(BuiltInProfile::tests).unwrap_or_default())
}

/// The lists of the tests that a submission for Kubernetes must have passed. There are none if this
/// program does not contain the suite.
pub(crate) fn suite_required() -> Result<Embedded<'static>, AppError> {
    Ok(suite_in(built_in()?).map(BuiltInProfile::required).unwrap_or_default())
}

/// The built-in profile of the suite of Kubernetes.
pub fn suite_profile() -> Result<&'static BuiltInProfile, AppError> {
    suite_in(built_in()?).ok_or_else(|| {
        AppError::usage("this program does not contain the suite of Kubernetes")
            .hint("run another suite: `plumbline conformance list` lists profiles")
    })
}

fn suite_in(all: &[BuiltInProfile]) -> Option<&BuiltInProfile> {
    all.iter().find(|built_in| built_in.is_suite)
}

/// The built-in profiles, or the error in the first one that is damaged.
type ReadProfiles = Result<Vec<BuiltInProfile>, ProfileError>;

static ALL: LazyLock<ReadProfiles> = LazyLock::new(|| read_all(plumbline_bundle::built_in::profiles()));

fn read_all(bundles: &[BuiltInBundle]) -> ReadProfiles {
    bundles.iter().map(BuiltInProfile::read).collect()
}

/// The built-in profiles.
pub fn built_in() -> Result<&'static [BuiltInProfile], AppError> {
    undamaged(&ALL)
}

fn undamaged(all: &ReadProfiles) -> Result<&[BuiltInProfile], AppError> {
    all.as_deref().map_err(|error| AppError::system("a built-in profile is damaged").because(error))
}

/// The program in the image of `definition` that prints lists, if the built-in profile of its suite
/// names one.
pub(crate) fn built_in_listing(definition: &Definition) -> Result<Option<Listing>, AppError> {
    Ok(listing_in(built_in()?, definition))
}

fn listing_in(all: &[BuiltInProfile], definition: &Definition) -> Option<Listing> {
    suite_in(all).filter(|_| is_suite(definition))?.profile.listing.clone()
}

/// The profile of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenProfile<'a> {
    /// That of the suite of Kubernetes, whose settings and submissions have code of their own.
    Suite(&'a BuiltInProfile),
    /// The reference of another one. It is the profile of a bundle, also if it is built in.
    Bundle(String),
}

/// The profile for the reference of a command. Without a reference, it is the first built-in one.
pub fn profile_for(reference: Option<&str>) -> Result<ChosenProfile<'static>, AppError> {
    chosen(built_in()?, reference)
}

fn chosen<'a>(all: &'a [BuiltInProfile], reference: Option<&str>) -> Result<ChosenProfile<'a>, AppError> {
    let built_in = match reference {
        None => first(all)?,
        Some(name) => match all.iter().find(|built_in| built_in.profile.name.as_str() == name) {
            Some(built_in) => built_in,
            None => return Ok(ChosenProfile::Bundle(name.to_owned())),
        },
    };
    Ok(match built_in.is_suite {
        true => ChosenProfile::Suite(built_in),
        false => ChosenProfile::Bundle(built_in.plugin.to_owned()),
    })
}

fn first(all: &[BuiltInProfile]) -> Result<&BuiltInProfile, AppError> {
    all.first().ok_or_else(|| {
        AppError::usage("no suite selected: this program has no built-in profile").hint(
            "name an installed profile, a directory or a packed bundle; `plumbline conformance list` lists profiles",
        )
    })
}

/// The modes of the suite of Kubernetes.
#[must_use]
pub fn modes() -> &'static [ProfileMode] {
    suite_profile().map_or(&[], |built_in| &built_in.profile.modes)
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
    match built_in().and_then(first) {
        Ok(built_in) => format!("{help} [default: {}]", built_in.profile.name),
        Err(_) => help.to_owned(),
    }
}

/// Checks the name of a mode of the suite of Kubernetes.
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

/// The suite of Kubernetes has no mode of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode{}: {}", meant(.0), all())]
pub struct UnknownMode(String);

fn meant(typed: &str) -> String {
    let near = closest(typed, modes().iter().map(|mode| mode.name.as_str()));
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn all() -> String {
    let names: Vec<String> = modes().iter().map(|mode| format!("`{}`", mode.name)).collect();
    match names.is_empty() {
        true => "this program does not contain the suite of Kubernetes, which has modes".to_owned(),
        false => format!("the modes are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use plumbline_bundle::Cache;
    use plumbline_bundle::built_in::BuiltInDefinition;
    use plumbline_kubernetes::ConnectOptions;

    use super::*;
    use crate::context::{Context, Silent};
    use crate::profiles::apply::{ProfileRun, apply, default_run_in};
    use crate::profiles::bundle::unpacked;
    use crate::profiles::find::{listed_built_in, not_found};

    const TOYS: &str = "sonobuoy-config: {driver: Job, plugin-name: suite, result-format: junit}\n\
                        spec: {image: 'r.example/toys:1'}\n";
    const E2E: &str = "sonobuoy-config: {driver: Job, plugin-name: e2e, result-format: junit}\n\
                         spec: {image: 'r.example/conformance:1'}\n";

    fn toy(name: &str) -> BuiltInProfile {
        let yaml = format!("name: {name}\ntitle: Toy\nversion: '1'\n");
        with_files(&yaml, None, &[])
    }

    /// A profile of this bundle.
    fn with_files(
        profile: &str,
        cluster: Option<&'static str>,
        files: &'static [(&'static str, &'static [u8])],
    ) -> BuiltInProfile {
        let plugin = BuiltInDefinition { name: "suite", local: None, cluster };
        let profile: &'static str = profile.to_owned().leak();
        BuiltInProfile::read(&BuiltInBundle { plugin, profile: profile.as_bytes(), files }).unwrap()
    }

    #[test]
    fn a_profile_finds_its_lists_and_its_image() {
        const FILES: &[(&str, &[u8])] = &[
            ("lists/all-v1.2.0.txt", b"ball\nkite\n"),
            ("lists/all-v1.1.0.txt", b"#v1.2.0\n-kite\n"),
            ("lists/must-v1.2.0.txt", b"kite\n"),
        ];
        let mode = "{name: all, description: d, default: true, submit: true, required: 'lists/must-{version}.txt'}";
        let yaml = format!(
            "name: a\ntitle: A\nversion: {{cluster: true}}\ntests: 'lists/all-{{version}}.txt'\nmodes: [{mode}]\n"
        );
        let definition = "sonobuoy-config: {driver: Job, plugin-name: suite, result-format: junit}\n\
                          spec: {image: 'r.example/suite:$SONOBUOY_K8S_VERSION'}\n";
        let suite = with_files(&yaml, Some(definition), FILES);
        assert_eq!(suite.tests().versions().collect::<Vec<_>>(), ["v1.1.0", "v1.2.0"]);
        assert_eq!(suite.tests().closest(Some("v1.1.9")).unwrap().tests, ["ball"]);
        assert_eq!(suite.required().closest(None).unwrap().tests, ["kite"]);
        assert_eq!(suite.image("v1.2.0").as_deref(), Some("r.example/suite:v1.2.0"));
        let other = toy("other");
        assert_eq!((other.tests(), other.image("v1.2.0")), (Embedded::default(), None));
    }

    #[test]
    fn only_the_profile_of_a_suite_names_its_program() {
        let yaml = "name: a\ntitle: A\nversion: '1'\nlisting: {program: /bin/toys, images: [--images]}\n";
        let (toys, suite) = (with_files(yaml, Some(TOYS), &[]), with_files(yaml, Some(E2E), &[]));
        let definition = |yaml: &str| Definition::parse(yaml).unwrap().definition;
        let all = [toys.clone(), suite];
        assert_eq!(listing_in(&all, &definition(E2E)).unwrap().images, ["--images"]);
        assert_eq!(listing_in(&all, &definition(TOYS)), None);
        assert_eq!(listing_in(&[toys], &definition(E2E)), None);
    }

    #[test]
    fn a_built_in_profile_with_an_image_of_this_name_is_not_that_of_kubernetes() {
        let yaml = "name: a\ntitle: A\nversion: '1'\n";
        let image = "sonobuoy-config: {driver: Job, plugin-name: suite, result-format: junit}\n\
                     spec: {image: 'r.example/conformance:1'}\n";
        let all = [with_files(yaml, Some(image), &[])];
        assert_eq!(suite_in(&all), None);
        assert_eq!(chosen(&all, None).unwrap(), ChosenProfile::Bundle("suite".to_owned()));
    }

    #[test]
    fn another_built_in_profile_is_applied_like_a_bundle() {
        const FILES: &[(&str, &[u8])] = &[("lists/required-1.1.txt", b"kite\n"), ("run.sh", b"#!/bin/sh\n")];
        let yaml = "name: suite\ntitle: Toys\nversion: '1.1'\nlocal: {command: [./run.sh]}\noptions:\n\
                    - {name: level, help: h, type: string, default: high, env: LEVEL}\nmodes:\n\
                    - {name: all, description: d, default: true, required: 'lists/required-1.1.txt'}\n";
        let cache = tempfile::tempdir().unwrap();
        let toys = with_files(yaml, Some(TOYS), FILES);
        let mut found = [unpacked(&toys, &Cache::at(cache.path().to_owned())).unwrap()];
        let files = found[0].bundle().unwrap().unwrap().files;
        assert!(files.iter().any(|file| file.name == "run.sh" && file.executable));
        let (context, cluster) = (Context::new(Silent), ConnectOptions::default());
        apply(&context, Some(&ProfileRun::default()), &mut found, Some(&cluster)).unwrap();
        let definition = &found[0].source.definition;
        assert!(definition.spec.env().iter().any(|variable| variable.name == "LEVEL"));
        let suite = definition.plumbline.suite.as_ref().unwrap();
        assert_eq!((suite.version.as_deref(), suite.mode.as_deref()), (Some("1.1"), Some("all")));
        // The required test is a check of the verdict.
        assert!(definition.to_json().to_string().contains("REQUIRED-001"));
    }

    #[test]
    fn a_cache_that_is_not_writable_is_reported_with_the_variable_that_names_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let toys = with_files("name: suite\ntitle: Toys\nversion: '1'\n", Some(TOYS), &[]);
        let error = unpacked(&toys, &Cache::at(file.path().join("bundles"))).err().unwrap();
        assert_eq!(error.summary(), "failed to load the built-in profile `suite`");
        assert!(error.hint_text().unwrap().contains("XDG_CACHE_HOME"), "{}", error.in_full());
    }

    #[test]
    fn a_program_without_built_in_profiles_asks_for_a_name() {
        let error = chosen(&[], None).unwrap_err();
        assert_eq!(error.summary(), "no suite selected: this program has no built-in profile");
        assert_eq!(chosen(&[], Some("toy")).unwrap(), ChosenProfile::Bundle("toy".to_owned()));
        assert!(listed_built_in(&[]).is_empty());
        let error = not_found("toy", &[]);
        assert_eq!(error.summary(), "profile `toy` not found");
        assert!(error.hint_text().unwrap().starts_with("it is not in this program, and no profile is installed"));
        assert!(help_of(&[]).contains("no built-in suite"));
    }

    #[test]
    fn a_damaged_profile_is_not_a_missing_one() {
        assert_eq!(plugin_of(&read_all(&[])).unwrap(), None);
        let plugin = BuiltInDefinition { name: "suite", local: None, cluster: None };
        let bundle = |profile: &'static [u8]| BuiltInBundle { plugin, profile, files: &[] };
        let whole = bundle(b"name: toy\ntitle: Toy\nversion: '1'\n");
        assert_eq!(plugin_of(&read_all(&[whole])).unwrap(), Some("suite"));
        let error = plugin_of(&read_all(&[whole, bundle(b"name: toy\n")])).unwrap_err();
        assert_eq!(error.summary(), "a built-in profile is damaged");
        assert!(!error.is_usage());
    }

    #[test]
    fn the_first_built_in_profile_is_the_default_and_any_can_be_named() {
        let suite = with_files("name: two\ntitle: Toy\nversion: '1'\n", Some(E2E), &[]);
        let all = [toy("one"), suite];
        let bundle = |reference: &str| ChosenProfile::Bundle(reference.to_owned());
        // Only the suite of Kubernetes has code of its own, wherever it is in the list.
        assert_eq!(chosen(&all, None).unwrap(), bundle("suite"));
        assert_eq!(chosen(&all, Some("one")).unwrap(), bundle("suite"));
        assert_eq!(chosen(&all, Some("two")).unwrap(), ChosenProfile::Suite(&all[1]));
        assert_eq!(chosen(&all, Some("./three")).unwrap(), bundle("./three"));
        assert_eq!(suite_in(&all), Some(&all[1]));
        assert_eq!(suite_in(&all[..1]), None);
        // A run of the default plugins applies the profile, unless it is that of Kubernetes.
        assert_eq!(default_run_in(&all), Some(ProfileRun::default()));
        assert_eq!((default_run_in(&all[1..]), default_run_in(&[])), (None, None));
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

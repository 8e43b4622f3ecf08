//! The conformance suite in a run: turns options into its definition, and checks before anything is
//! created whether it can run.

mod check;
pub mod test_names;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Command};
use plumbline_bundle::profile::{self, Given, Place};
use plumbline_conformance::suite::{
    self, ConfigFile, LATEST_URL, MAX_LATEST_BYTES, Settings, latest_version, takes_credentials,
};
use plumbline_core::Config;
use plumbline_core::definition::Definition;
use plumbline_kubernetes::ServerVersion;
use plumbline_kubernetes::manifest::MAX_CONFIG_MAP_BYTES;
use serde_json::json;

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files::{self, MAX_CREDENTIALS};
use crate::profiles::{self, ProfileRun, applied, default_plugin, suite_plugin, suite_profile, wrong_settings};
use crate::reruns::{Retries, failed_tests_of};
use crate::sources::url;

pub use check::check;

/// The most retries of failed tests: a test that fails so often fails.
const MAX_RETRIES: i64 = 5;

/// Options of the conformance suite.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Conformance suite options")]
pub struct SuiteOptions {
    /// The mode, which selects tests.
    #[arg(short, long, value_name = "MODE", value_parser = profiles::parse_mode, help = profiles::mode_help())]
    pub mode: Option<String>,
    /// Run the tests whose names match this Go regular expression; overrides the mode
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["mode", "rerun_failed"])]
    pub e2e_focus: Option<String>,
    /// Skip the tests whose names match this regular expression; overrides the mode; empty skips
    /// none
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["mode", "rerun_failed"])]
    pub e2e_skip: Option<String>,
    /// Run tests in parallel
    #[arg(long, value_name = "true|false", conflicts_with = "rerun_failed", value_parser = clap::builder::BoolishValueParser::new())]
    pub e2e_parallel: Option<bool>,
    /// Run only the tests that failed in this archive
    #[arg(long, value_name = "ARCHIVE")]
    pub rerun_failed: Option<PathBuf>,
    /// Retry failed tests in the same run up to N times (at most 5); both outcomes are recorded
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u32).range(0..=MAX_RETRIES))]
    pub retry_failed: u32,
    /// Select and report tests without running them
    #[arg(long)]
    pub e2e_dry_run: bool,
    /// Take the images of all tests from this registry
    #[arg(long, value_name = "REGISTRY", conflicts_with = "e2e_repo_config")]
    pub e2e_repo: Option<String>,
    /// YAML file that maps the registries of test images (`KUBE_TEST_REPO_LIST`)
    #[arg(long, value_name = "FILE")]
    pub e2e_repo_config: Option<PathBuf>,
    /// Docker configuration with registry credentials, for pods of the run and for tests that pull
    /// images (Kubernetes 1.27 and later)
    #[arg(long, value_name = "FILE")]
    pub e2e_docker_config_file: Option<PathBuf>,
    /// Extra arguments for the suite's program; repeatable
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub e2e_extra_args: Vec<String>,
    /// Private key for tests that log in to nodes over SSH
    #[arg(long, value_name = "FILE")]
    pub ssh_key: Option<PathBuf>,
    /// User name for these logins
    #[arg(long, value_name = "NAME")]
    pub ssh_user: Option<String>,
    /// Lists of test names to check focus and skip against, one gzip file per version: a directory
    /// or a URL
    #[arg(long, value_name = "DIR|URL")]
    pub e2e_lists: Option<String>,
    /// Image of the suite [default: the one for the cluster's version]
    #[arg(long, value_name = "IMAGE")]
    pub kube_conformance_image: Option<String>,
    /// Image of the plugin systemd-logs, which runs the command of its definition
    #[arg(long, value_name = "IMAGE")]
    pub systemd_logs_image: Option<String>,
    /// Values of options of the profile: `NAME=VALUE`. Only `conformance run` has an option for
    /// them.
    #[arg(skip)]
    pub set: Vec<String>,
    /// Files with values of options: `NAME=FILE`.
    #[arg(skip)]
    pub set_files: Vec<String>,
    /// Set if the results will be submitted; only `conformance run` has options for it.
    #[arg(skip)]
    pub submitted: Option<Submitted>,
}

/// A run whose results will be submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    /// Whether the caller gives the list of required tests.
    pub required: bool,
}

impl SuiteOptions {
    /// The first option of the plugin `e2e` that is set, by its name on the command line.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            (self.submitted.is_some(), "--submission-dir"),
            (!self.set.is_empty(), "--set"),
            (!self.set_files.is_empty(), "--set-file"),
            (self.mode.is_some(), "--mode"),
            (self.e2e_focus.is_some(), "--e2e-focus"),
            (self.e2e_skip.is_some(), "--e2e-skip"),
            (self.e2e_parallel.is_some(), "--e2e-parallel"),
            (self.rerun_failed.is_some(), "--rerun-failed"),
            (self.retry_failed > 0, "--retry-failed"),
            (self.e2e_dry_run, "--e2e-dry-run"),
            (self.e2e_repo.is_some(), "--e2e-repo"),
            (self.e2e_repo_config.is_some(), "--e2e-repo-config"),
            (self.e2e_docker_config_file.is_some(), "--e2e-docker-config-file"),
            (!self.e2e_extra_args.is_empty(), "--e2e-extra-args"),
            (self.ssh_key.is_some(), "--ssh-key"),
            (self.ssh_user.is_some(), "--ssh-user"),
            (self.e2e_lists.is_some(), "--e2e-lists"),
            (self.kube_conformance_image.is_some(), "--kube-conformance-image"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The first option that is set, of any plugin.
    pub fn given_for_any(&self) -> Option<&'static str> {
        self.given().or(self.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"))
    }

    /// The mode, and the values of options of the profile. Some options of the command line are
    /// other spellings of them.
    ///
    /// # Errors
    ///
    /// A value, or the name of the mode or of an option, does not fit the profile.
    pub fn settings(&self) -> Result<profile::Settings<'static>, AppError> {
        let profile = &suite_profile()?.profile;
        let run = ProfileRun { set: self.set.clone(), set_files: self.set_files.clone(), ..ProfileRun::default() };
        let flags = [
            ("focus", self.e2e_focus.clone()),
            ("skip", self.e2e_skip.clone()),
            ("parallel", self.e2e_parallel.map(|parallel| parallel.to_string())),
            ("dry-run", self.e2e_dry_run.then(|| "true".to_owned())),
            ("image", self.kube_conformance_image.clone()),
            ("repo", self.e2e_repo.clone()),
            ("ssh-user", self.ssh_user.clone()),
        ];
        let flags = flags
            .into_iter()
            .filter_map(|(name, value)| Some(Given { name: name.to_owned(), value: value?, from_file: false }));
        let given: Vec<Given> = run.given(profile)?.into_iter().chain(flags).collect();
        profile::Settings::choose_changes(profile, self.mode.as_deref(), &given)
            .map_err(|error| wrong_settings(profile, &error))
    }

    /// The reruns of failed tests, if there are any.
    pub fn retries(&self) -> Option<Retries> {
        let built_in = suite_profile().ok().filter(|_| self.retry_failed > 0)?;
        Some(Retries { count: self.retry_failed, how: built_in.profile.reruns(built_in.plugin.parse().ok()?)? })
    }

    /// Whether an option selects tests.
    pub fn selects(&self) -> bool {
        let names = |name: &str| self.set.iter().any(|set| set.split_once('=').is_some_and(|(set, _)| set == name));
        self.mode.is_some()
            || self.e2e_focus.is_some()
            || self.e2e_skip.is_some()
            || self.rerun_failed.is_some()
            || names("focus")
            || names("skip")
    }
}

/// An option of the command line for the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteOption {
    /// The option with its dashes.
    pub flag: String,
    /// The name of its value. `None` if it takes none.
    pub value: Option<String>,
    /// What it does.
    pub help: String,
}

/// Lists the options of the command line for the suite, as `--help` does.
#[must_use]
pub fn suite_options() -> Vec<SuiteOption> {
    let command = SuiteOptions::augment_args(Command::new("suite"));
    let option = |arg: &clap::Arg| {
        let takes_value = arg.get_action().takes_values();
        Some(SuiteOption {
            flag: format!("--{}", arg.get_long()?),
            value: arg
                .get_value_names()
                .filter(|_| takes_value)
                .and_then(|names| names.first())
                .map(ToString::to_string),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        })
    };
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(option).collect()
}

/// The Secret with credentials for images, if the configuration does not name one.
pub(crate) const DEFAULT_PULL_SECRET: &str = "auth-repo-cred";

/// Applies the options to the configuration, and to the definitions of the plugins that they are
/// for.
pub async fn apply(
    context: &Context,
    options: &SuiteOptions,
    config: &mut Config,
    mut plugins: Vec<&mut Arc<Definition>>,
    server: Option<&ServerVersion>,
) -> Result<(), AppError> {
    check_plugins(options, &plugins.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>())?;
    let newest = config.plumbline.kubernetes_version == LATEST;
    if newest {
        config.plumbline.kubernetes_version = latest(context).await?;
    }
    if let Some(image) = &options.systemd_logs_image
        && let Some(plugin) = plugins.iter_mut().find(|plugin| plugin.name.as_str() == SYSTEMD_LOGS)
    {
        **plugin = Arc::new(with_image(plugin, image)?);
    }
    let own = suite_plugin()?;
    let Some(plugin) = plugins.into_iter().find(|plugin| own == Some(plugin.name.as_str())) else { return Ok(()) };
    if let (Some(mode), Some(archive)) = (&options.mode, &options.rerun_failed) {
        let archive = archive.display();
        return Err(AppError::usage(format!("`--mode {mode}` and `--rerun-failed {archive}` both select tests"))
            .hint("leave out one of them"));
    }
    let version = match (config.plumbline.kubernetes_version.as_str(), server) {
        ("", Some(server)) => server.image_version(),
        (version, _) => version.to_owned(),
    };
    let mut changes = options.settings()?;
    let mut required = Vec::new();
    if let Some(archive) = &options.rerun_failed {
        let failed = failed_tests_of(context, archive, plugin.name.as_str(), changes.profile())?;
        changes.select_failed(failed.focus).map_err(|error| wrong_settings(changes.profile(), &error))?;
        required = failed.names;
    }
    let mut definition = changed(&changes, plugin, &required)?;
    if newest
        && changes.value("image").is_none()
        && let Some(image) = suite::image_of_latest(definition.spec.image().unwrap_or_default())
    {
        definition = with_image(&definition, &image)?;
    }
    let definition = more_settings(options, config, &version)?
        .apply(&definition)
        .usage_error(format_args!("failed to set up plugin `{}`", plugin.name))
        .hint(format_args!("print a suitable definition with `plumbline gen plugin {}`", plugin.name))?;
    *plugin = Arc::new(definition);
    Ok(())
}

/// Applies the mode and the values of options to a definition of the suite. `required` has the tests
/// of a rerun, each of which must run.
fn changed(
    changes: &profile::Settings<'_>,
    definition: &Definition,
    required: &[String],
) -> Result<Definition, AppError> {
    let mut changed = applied(changes, definition, Place::Cluster, required)?.definition;
    // People edit this definition after it was made, so its variables are what it says about itself.
    // That only failed tests run again must be known in any case.
    changed.plumbline.suite = changed.plumbline.suite.filter(|suite| suite.rerun);
    Ok(changed)
}

/// The settings of the suite of this version that no option of its profile expresses. Credentials
/// are set in the configuration, which makes a Secret of them.
fn more_settings(options: &SuiteOptions, config: &mut Config, version: &str) -> Result<Settings, AppError> {
    if let Some(path) = &options.e2e_docker_config_file {
        config.e2e_docker_config_file = path.display().to_string();
    }
    Ok(Settings {
        repo_config: options.e2e_repo_config.as_deref().map(repo_config).transpose()?,
        credentials: credentials(config, version)?,
        ssh_key: options.ssh_key.is_some(),
        extra_args: options.e2e_extra_args.clone(),
        progress_port: Some(config.progress_updates_port.clone()).filter(|port| !port.is_empty()),
    })
}

/// Reads the private key for SSH, if the options name one.
pub fn ssh_key(options: &SuiteOptions) -> Result<Option<Vec<u8>>, AppError> {
    let Some(path) = &options.ssh_key else { return Ok(None) };
    let what = format!("invalid key `{}`", path.display());
    files::read_text(path, MAX_CREDENTIALS, &what).map(|text| Some(text.into_bytes()))
}

/// The name of the Secret with credentials for the suite, if there are any.
fn credentials(config: &mut Config, version: &str) -> Result<Option<String>, AppError> {
    if config.e2e_docker_config_file.is_empty() {
        return Ok(None);
    }
    if takes_credentials(version) == Some(false) {
        return Err(AppError::usage(format!(
            "the suite of Kubernetes {version} does not support credentials for registries"
        ))
        .hint(
            "`--e2e-docker-config-file` (`E2EDockerConfigFile` in a configuration) is for Kubernetes 1.27 and later",
        ));
    }
    if config.image_pull_secrets.is_empty() {
        DEFAULT_PULL_SECRET.clone_into(&mut config.image_pull_secrets);
    }
    Ok(Some(config.image_pull_secrets.clone()))
}

fn repo_config(path: &Path) -> Result<ConfigFile, AppError> {
    let what = format!("invalid list of registries `{}`", path.display());
    let text = files::read_text(path, MAX_CONFIG_MAP_BYTES, &what)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let keys: serde_json::Map<String, serde_json::Value> = serde_saphyr::from_str(&text).map_err(|error| {
        AppError::usage(&what)
            .because(&error)
            .hint("write a YAML mapping, such as `gcRegistry: registry.example.org/mirror`")
    })?;
    if keys.is_empty() {
        return Err(AppError::usage(what).hint("add a registry, such as `gcRegistry: registry.example.org/mirror`"));
    }
    Ok(ConfigFile { name, text })
}

fn with_image(definition: &Definition, image: &str) -> Result<Definition, AppError> {
    let mut json = definition.to_json();
    if let Some(spec) = json.get_mut("spec").and_then(|spec| spec.as_object_mut()) {
        spec.insert("image".to_owned(), json!(image));
    }
    let wrong = || AppError::usage(format!("failed to set the image of plugin `{}` to `{image}`", definition.name));
    Definition::from_json(json).map(|parsed| parsed.definition).map_err(|error| wrong().because(&error))
}

/// The plugins of a run in a cluster if none is named, as in Sonobuoy: that of the first built-in
/// profile, and the logs of systemd.
pub fn default_plugins() -> Result<Vec<&'static str>, AppError> {
    Ok(default_plugin()?.into_iter().chain([SYSTEMD_LOGS]).collect())
}

/// Appends the names of the default plugins to the help of an option.
#[must_use]
pub fn with_default_plugins(help: &str) -> String {
    let names: Vec<String> = default_plugins().unwrap_or_default().iter().map(|name| format!("`{name}`")).collect();
    format!("{help} [default: {}]", names.join(" and "))
}

/// The other plugin with an option for its image.
const SYSTEMD_LOGS: &str = "systemd-logs";

fn check_plugins(options: &SuiteOptions, plugins: &[&str]) -> Result<(), AppError> {
    // Without a profile, options of the suite have no meaning.
    let suite = options.given().map(|option| Ok::<_, AppError>((option, suite_profile()?.plugin))).transpose()?;
    let logs = options.systemd_logs_image.as_ref().map(|_| ("--systemd-logs-image", SYSTEMD_LOGS));
    for (option, plugin) in suite.into_iter().chain(logs) {
        if !plugins.contains(&plugin) {
            let names: Vec<_> = plugins.iter().map(|name| format!("`{name}`")).collect();
            return Err(AppError::usage(format!("`{option}` is for the plugin `{plugin}`, which is not in this run"))
                .hint(format!("add `--plugin {plugin}`; plugins of this run: {}", names.join(", "))));
        }
    }
    Ok(())
}

/// Checks that no option of the suite is set for a run on this machine, where it cannot run.
pub fn not_local(options: &SuiteOptions) -> Result<(), AppError> {
    match options.given_for_any() {
        None => Ok(()),
        Some(option) => Err(AppError::usage(format!("`{option}` is for runs in a cluster only"))
            .hint("remove the option, or remove `--local`")),
    }
}

/// The version that stands for the latest build of Kubernetes.
pub const LATEST: &str = "latest";

/// Looks up the version of the latest build, as in tags of images.
pub async fn latest(context: &Context) -> Result<String, AppError> {
    let wrong = |cause: &str| {
        AppError::system(format!("failed to look up the latest Kubernetes version at `{LATEST_URL}`: {cause}"))
            .hint("set a version with `--kubernetes-version`, such as `v1.30.2`")
    };
    // The download blocks.
    let asked = tokio::task::spawn_blocking({
        let context = context.clone();
        move || url::get(&context, LATEST_URL, MAX_LATEST_BYTES)
    })
    .await;
    let answer = asked.map_err(|error| wrong(&error.to_string()))??.map_err(|cause| wrong(&cause))?;
    let version = latest_version(&String::from_utf8_lossy(&answer)).map_err(|error| wrong(&error.to_string()))?;
    context.reporter.progress(&format!("the latest version of Kubernetes is {version}"));
    Ok(version)
}

#[cfg(test)]
mod tests {
    use plumbline_conformance::lists::Selection;
    use plumbline_conformance::submission::{Release, Required};
    use plumbline_core::Definition;
    use plumbline_core::definition::EnvValue;

    use super::*;
    use crate::profiles::{suite_required, suite_tests};

    /// Returns the definition of the suite. `None` if this program has no built-in profile.
    fn built_in() -> Option<Definition> {
        let Ok(profile) = suite_profile() else {
            eprintln!("SKIPPED: this program has no built-in profile");
            return None;
        };
        let yaml = plumbline_bundle::built_in::definition(profile.plugin).unwrap().cluster.unwrap();
        Some(Definition::parse(yaml).unwrap().definition)
    }

    fn applied(options: &SuiteOptions, definition: &Definition) -> Definition {
        let changed = changed(&options.settings().unwrap(), definition, &[]).unwrap();
        more_settings(options, &mut Config::default(), "v1.30.2").unwrap().apply(&changed).unwrap()
    }

    #[test]
    fn the_built_in_definition_is_the_default_mode() {
        let Some(definition) = built_in() else { return };
        let default = suite_profile().unwrap().profile.default_mode().map(|mode| mode.name.clone());
        let options = SuiteOptions { mode: default, ..SuiteOptions::default() };
        assert_eq!(applied(&options, &definition), definition);
        assert_eq!(applied(&SuiteOptions::default(), &definition), definition, "without options, nothing changes");
    }

    #[test]
    fn options_come_before_the_mode_and_an_empty_value_removes_a_variable() {
        let Some(definition) = built_in() else { return };
        let options = SuiteOptions {
            mode: Some("conformance-lite".to_owned()),
            e2e_skip: Some(String::new()),
            e2e_dry_run: true,
            set: vec!["focus=a".to_owned(), "repo=mirror".to_owned()],
            kube_conformance_image: Some("mirror/conformance:v1".to_owned()),
            ..SuiteOptions::default()
        };
        let made = applied(&options, &definition);
        let env = made.spec.env();
        let value = |name: &str| env.iter().find(|variable| variable.name == name).map(|found| found.value.clone());
        let text = |text: &str| Some(EnvValue::Text(text.to_owned()));
        assert_eq!(value("E2E_FOCUS"), text("a"));
        assert_eq!(value("E2E_SKIP"), None);
        assert_eq!((value("E2E_PARALLEL"), value("E2E_DRYRUN")), (text("true"), text("true")));
        assert_eq!((value("KUBE_TEST_REPO"), made.spec.image()), (text("mirror"), Some("mirror/conformance:v1")));
        let twice = SuiteOptions { e2e_focus: Some("b".to_owned()), ..options };
        assert_eq!(twice.settings().unwrap_err().causes(), ["option `focus` has several values"]);
    }

    /// Returns the text before each name that the suite matches expressions against.
    fn prefix() -> &'static str {
        suite_profile().unwrap().profile.name_prefix()
    }

    /// Returns what the mode `conformance-lite` skips, if the profile is in this program.
    fn lite_skip() -> Option<&'static str> {
        built_in()?;
        let lite = profiles::modes().iter().find(|mode| mode.name == "conformance-lite").unwrap();
        Some(&lite.set["skip"])
    }

    #[test]
    fn the_lite_mode_skips_three_tags_and_one_test_with_each_other_expression_in_every_version() {
        let Some(skip) = lite_skip() else { return };
        // No name contains a bar, so each bar separates two alternatives.
        let expressions: Vec<&str> = skip.split('|').collect();
        assert_eq!((expressions.len(), &expressions[..3]), (37, &["Serial", "Slow", "Disruptive"][..]));
        // A double quote would end an argument of old images.
        assert!(!skip.contains('"'));
        let (mut versions, lists) = (0, suite_required().unwrap());
        for (version, release) in Required::known(&lists) {
            let required = Required::embedded(&lists, release).unwrap().unwrap();
            for (index, expression) in expressions.iter().enumerate() {
                let selection = Selection::parse(Some(expression), None).unwrap();
                let skipped: Vec<&String> =
                    required.names.iter().filter(|name| selection.runs(prefix(), name)).collect();
                match index < 3 {
                    true => assert!(skipped.len() > 1, "{version}: `{expression}` skips {skipped:?}"),
                    false => assert_eq!(skipped.len(), 1, "{version}: `{expression}` skips {skipped:?}"),
                }
            }
            versions += 1;
        }
        assert_eq!(versions, 9);
    }

    #[test]
    fn the_lite_mode_selects_these_numbers_of_tests() {
        let Some(skip) = lite_skip() else { return };
        let lite = Selection::parse(Some(r"\[Conformance\]"), Some(skip)).unwrap();
        let (lists, tests) = (suite_required().unwrap(), suite_tests().unwrap());
        let of_required = |(version, release): (&'static str, Release)| {
            let required = Required::embedded(&lists, release).unwrap().unwrap();
            (version, required.names.iter().filter(|name| lite.runs(prefix(), name)).count())
        };
        let expected = [
            ("v1.29.15", 321),
            ("v1.30.14", 335),
            ("v1.31.14", 336),
            ("v1.32.13", 345),
            ("v1.33.13", 350),
            ("v1.34.4", 357),
            ("v1.35.4", 374),
            ("v1.36.3", 379),
            ("v1.37.2", 395),
        ];
        assert_eq!(Required::known(&lists).map(of_required).collect::<Vec<_>>(), expected);
        // Two conformance tests of v1.33 are not in its list of required tests.
        for (version, required) in expected {
            let Some(all) = tests.exact(version) else { continue };
            let selected = all.unwrap().specs().filter(|name| lite.runs(prefix(), name)).count();
            assert_eq!(selected, required + if version == "v1.33.13" { 2 } else { 0 }, "{version}");
        }
    }

    #[test]
    fn without_the_option_nothing_is_added() {
        assert_eq!(SuiteOptions::default().retries(), None);
    }
}

//! The conformance suite in a run: turns options into its definition, and checks before anything is
//! created whether it can run.

mod check;
mod options;
mod retry;
pub mod test_names;

use std::path::Path;
use std::sync::Arc;

use plumbline_conformance::suite::{
    self, ConfigFile, LATEST_URL, MAX_LATEST_BYTES, Settings, Ssh, latest_version, takes_credentials,
};
use plumbline_core::config::Config;
use plumbline_core::definition::Definition;
use plumbline_kubernetes::ServerVersion;
use plumbline_kubernetes::manifest::MAX_CONFIG_MAP_BYTES;
use serde_json::json;

use crate::Context;
use crate::error::AppError;
use crate::files::{self, MAX_CREDENTIALS};
use crate::sources::url;

pub use check::check;
pub use options::{Submitted, SuiteOptions};
pub use retry::add_retries;

/// The Secret with credentials for images, if the configuration does not name one.
pub(crate) const DEFAULT_PULL_SECRET: &str = "auth-repo-cred";

/// Applies the options to the configuration, and to the definitions of the plugins that they are
/// for.
///
/// # Errors
/// An option is for a plugin that is not in the run, or a file or version cannot be read.
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
    let Some(plugin) = plugins.into_iter().find(|plugin| plugin.name.as_str() == suite::PLUGIN) else { return Ok(()) };
    let version = match (config.plumbline.kubernetes_version.as_str(), server) {
        ("", Some(server)) => server.image_version(),
        (version, _) => version.to_owned(),
    };
    let mut settings = settings(context, options, config, &version)?;
    if newest && settings.image.is_none() {
        settings.image = suite::image_of_latest(plugin.spec.image().unwrap_or_default());
    }
    *plugin = Arc::new(applied(&settings, plugin)?);
    Ok(())
}

/// The settings of the suite of this version. Credentials are set in the configuration, which makes
/// a Secret of them.
fn settings(
    context: &Context,
    options: &SuiteOptions,
    config: &mut Config,
    version: &str,
) -> Result<Settings, AppError> {
    if let Some(path) = &options.docker_config_file {
        config.e2e_docker_config_file = path.display().to_string();
    }
    let rerun = options.rerun_failed.as_deref().map(|path| retry::rerun_focus_of(context, path)).transpose()?;
    Ok(Settings {
        image: options.image.clone(),
        mode: options.mode,
        // A failed test must not be skipped.
        skip: rerun.as_ref().map(|_| String::new()).or_else(|| options.skip.clone()),
        // In parallel and with nothing to skip, the image omits serial tests.
        parallel: options.parallel.or(rerun.as_ref().map(|_| false)),
        focus: rerun.or_else(|| options.focus.clone()),
        repo: options.repo.clone(),
        repo_config: options.repo_config.as_deref().map(repo_config).transpose()?,
        credentials: credentials(config, version)?,
        ssh: Ssh { user: options.ssh_user.clone(), key: options.ssh_key.is_some() },
        dry_run: options.dry_run,
        extra_args: options.extra_args.clone(),
        progress_port: Some(config.progress_updates_port.clone()).filter(|port| !port.is_empty()),
    })
}

/// The definition with these settings.
fn applied(settings: &Settings, definition: &Definition) -> Result<Definition, AppError> {
    settings.apply(definition).map_err(|error| {
        AppError::usage(format!("failed to set up plugin `{}`", definition.name))
            .because(&error)
            .hint(format!("`plumbline gen plugin {}` prints a definition that can", suite::PLUGIN))
    })
}

/// Reads the private key for SSH, if the options name one.
///
/// # Errors
/// The file cannot be read.
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
        return Err(AppError::usage(format!("the suite of Kubernetes {version} takes no credentials for registries"))
            .hint("`--e2e-docker-config-file` (`E2EDockerConfigFile` in a configuration) is for Kubernetes 1.27 and later"));
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
            .hint("it is a YAML mapping, such as `gcRegistry: registry.example.org/mirror`")
    })?;
    if keys.is_empty() {
        return Err(
            AppError::usage(what).hint("it names no registry, such as `gcRegistry: registry.example.org/mirror`")
        );
    }
    Ok(ConfigFile { name, text })
}

fn with_image(definition: &Definition, image: &str) -> Result<Definition, AppError> {
    let mut json = definition.to_json();
    if let Some(spec) = json.get_mut("spec").and_then(|spec| spec.as_object_mut()) {
        spec.insert("image".to_owned(), json!(image));
    }
    let wrong = || AppError::usage(format!("plugin `{}` cannot have the image `{image}`", definition.name));
    Definition::from_json(json).map(|parsed| parsed.definition).map_err(|error| wrong().because(&error))
}

/// The plugins of a run in a cluster if none is named, as in Sonobuoy.
pub const DEFAULT_PLUGINS: [&str; 2] = [suite::PLUGIN, SYSTEMD_LOGS];

/// The other plugin with an option for its image.
const SYSTEMD_LOGS: &str = "systemd-logs";

/// Checks that the plugins of all options are in the run.
fn check_plugins(options: &SuiteOptions, plugins: &[&str]) -> Result<(), AppError> {
    let named = [
        (options.given(), suite::PLUGIN),
        (options.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"), SYSTEMD_LOGS),
    ];
    for (option, plugin) in named {
        let Some(option) = option else { continue };
        if !plugins.contains(&plugin) {
            let names: Vec<_> = plugins.iter().map(|name| format!("`{name}`")).collect();
            return Err(AppError::usage(format!("`{option}` is for the plugin `{plugin}`, which is not in this run"))
                .hint(format!("add `--plugin {plugin}`; plugins of this run: {}", names.join(", "))));
        }
    }
    Ok(())
}

/// Checks that no option of the suite is set for a run on this machine, where it cannot run.
///
/// # Errors
/// An option is set.
pub fn not_local(options: &SuiteOptions) -> Result<(), AppError> {
    match options.given_for_any() {
        None => Ok(()),
        Some(option) => {
            Err(AppError::usage(format!("`{option}` is for runs in a cluster, and this one is on this machine"))
                .hint("leave it out, or leave out `--local`"))
        }
    }
}

/// The version that stands for the latest build of Kubernetes.
pub const LATEST: &str = "latest";

/// Looks up the version of the latest build, as in tags of images.
///
/// # Errors
/// It cannot be looked up.
pub async fn latest(context: &Context) -> Result<String, AppError> {
    let wrong = |cause: &str| {
        AppError::system(format!("the latest version of Kubernetes cannot be looked up at `{LATEST_URL}`: {cause}"))
            .hint("name a version with `--kubernetes-version`, such as `v1.30.2`")
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

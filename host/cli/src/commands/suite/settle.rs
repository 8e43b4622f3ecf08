//! From options to the definition of the plugin e2e.

use std::path::Path;
use std::sync::Arc;

use plumbline_app::AppError;
use plumbline_conformance::suite::{self, ConfigFile, Settings, Ssh, takes_credentials};
use plumbline_core::config::Config;
use plumbline_core::definition::Definition;
use plumbline_kubernetes::ServerVersion;
use plumbline_kubernetes::manifest::MAX_CONFIG_MAP_BYTES;
use serde_json::json;

use super::latest::{LATEST, latest};
use super::retry;
use crate::args::SuiteArgs;
use crate::commands::gen_delivery::{self, MAX_CREDENTIALS};
use crate::commands::gen_options::DEFAULT_PULL_SECRET;
use plumbline_app::Context;

/// Lets the options count: in the configuration, and in the definitions of the plugins that they are for.
pub(crate) async fn settle(
    context: &Context,
    args: &SuiteArgs,
    config: &mut Config,
    mut plugins: Vec<&mut Arc<Definition>>,
    server: Option<&ServerVersion>,
) -> Result<(), AppError> {
    for_the_suite(args, &plugins.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>())?;
    let newest = config.plumbline.kubernetes_version == LATEST;
    if newest {
        config.plumbline.kubernetes_version = latest(context).await?;
    }
    if let Some(image) = &args.systemd_logs_image
        && let Some(plugin) = plugins.iter_mut().find(|plugin| plugin.name.as_str() == SYSTEMD_LOGS)
    {
        **plugin = Arc::new(with_image(plugin, image)?);
    }
    let Some(plugin) = plugins.into_iter().find(|plugin| plugin.name.as_str() == suite::PLUGIN) else { return Ok(()) };
    let version = match (config.plumbline.kubernetes_version.as_str(), server) {
        ("", Some(server)) => server.image_version(),
        (version, _) => version.to_owned(),
    };
    let mut settings = settings(context, args, config, &version)?;
    if newest && settings.image.is_none() {
        settings.image = suite::image_of_latest(plugin.spec.image().unwrap_or_default());
    }
    *plugin = Arc::new(applied(&settings, plugin)?);
    Ok(())
}

/// What the options ask of the suite of this version. Credentials are put into the configuration, which makes the Secret of them.
fn settings(context: &Context, args: &SuiteArgs, config: &mut Config, version: &str) -> Result<Settings, AppError> {
    if let Some(path) = &args.e2e_docker_config_file {
        config.e2e_docker_config_file = path.display().to_string();
    }
    let rerun = args.rerun_failed.as_deref().map(|path| retry::focus(context, path)).transpose()?;
    Ok(Settings {
        image: args.kube_conformance_image.clone(),
        mode: args.mode,
        // Nothing that failed may be left out again.
        skip: rerun.as_ref().map(|_| String::new()).or_else(|| args.e2e_skip.clone()),
        // Side by side and with nothing to skip, the image leaves serial tests out.
        parallel: args.e2e_parallel.or(rerun.as_ref().map(|_| false)),
        focus: rerun.or_else(|| args.e2e_focus.clone()),
        repo: args.e2e_repo.clone(),
        repo_config: args.e2e_repo_config.as_deref().map(repo_config).transpose()?,
        credentials: credentials(config, version)?,
        ssh: Ssh { user: args.ssh_user.clone(), key: args.ssh_key.is_some() },
        dry_run: args.e2e_dry_run,
        extra_args: args.e2e_extra_args.clone(),
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

/// The private key of `--ssh-key`.
pub(crate) fn ssh_key(args: &SuiteArgs) -> Result<Option<Vec<u8>>, AppError> {
    let Some(path) = &args.ssh_key else { return Ok(None) };
    let what = format!("invalid key `{}`", path.display());
    gen_delivery::text(path, MAX_CREDENTIALS, &what).map(|text| Some(text.into_bytes()))
}

/// The Secret with credentials for the suite, if there are any.
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
    let text = gen_delivery::text(path, MAX_CONFIG_MAP_BYTES, &what)?;
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

/// What a run in a cluster has where no plugin is named: what users of Sonobuoy expect.
pub(crate) const DEFAULT_PLUGINS: [&str; 2] = [suite::PLUGIN, SYSTEMD_LOGS];

/// The other plugin that has an option of its own for its image.
pub(super) const SYSTEMD_LOGS: &str = "systemd-logs";

/// Refuses options for plugins that are not in the run.
pub(super) fn for_the_suite(args: &SuiteArgs, plugins: &[&str]) -> Result<(), AppError> {
    let named = [
        (args.given(), suite::PLUGIN),
        (args.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"), SYSTEMD_LOGS),
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

/// Refuses options of the suite where it cannot run.
pub(crate) fn not_here(args: &SuiteArgs) -> Result<(), AppError> {
    match any(args) {
        None => Ok(()),
        Some(option) => {
            Err(AppError::usage(format!("`{option}` is for runs in a cluster, and this one is on this machine"))
                .hint("leave it out, or leave out `--local`"))
        }
    }
}

/// The first option that was given and means a plugin of the built-in modules.
pub(crate) fn any(args: &SuiteArgs) -> Option<&'static str> {
    args.given().or(args.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"))
}

//! The texts of definitions: built-in ones with changes, and new ones.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_bundle::built_in::Environment;
use plumbline_core::definition::{Definition, DefinitionError, K8S_VERSION_VARIABLE};
use plumbline_core::{Config, Driver, PluginName};
use plumbline_kubernetes::manifest::{MAX_CONFIG_MAP_BYTES, default_pod_spec, image_of_run, to_document};
use plumbline_kubernetes::names;
use serde_json::{Map, Value, json};

use super::ClusterRunOptions;
use crate::context::Context;
use crate::error::AppError;
use crate::runtime::runtime;
use crate::suite::{self, SuiteOptions};
use crate::{files, sources};

/// A new definition.
#[derive(Debug, Clone)]
pub struct PluginTemplate {
    /// The name of the plugin.
    pub name: String,
    /// The image of the plugin.
    pub image: Option<String>,
    /// The driver.
    pub driver: Driver,
    /// The format of the results.
    pub format: String,
    /// The command of the container.
    pub command: Vec<String>,
    /// The arguments of the command.
    pub args: Vec<String>,
    /// Environment variables: `KEY=VALUE`.
    pub env: Vec<String>,
    /// Labels of the nodes to run on: `KEY=VALUE`.
    pub node_selector: Vec<String>,
    /// Files to provide to the plugin.
    pub files: Vec<PathBuf>,
    /// The description.
    pub description: Option<String>,
    /// The URL of the definition's source.
    pub url: Option<String>,
    /// Whether the default pod is written out.
    pub show_default_podspec: bool,
}

/// Changes to a built-in definition.
#[derive(Debug, Clone, Default)]
pub struct BuiltInChanges {
    /// The image of a plugin that uses that of the run.
    pub image: Option<String>,
    /// Variables in the containers: `PLUGIN.KEY=VALUE`.
    pub plugin_env: Vec<String>,
    /// The version of Kubernetes in the image.
    pub kubernetes_version: Option<String>,
    /// Whether the default pod is written out.
    pub show_default_podspec: bool,
    /// Options of the suite.
    pub suite: SuiteOptions,
}

/// The text of a built-in definition with `changes` and an image, so that every reader of
/// definitions can use it. The comment at its start is kept.
///
/// # Errors
/// There is no such plugin, or a change is invalid.
pub fn built_in_definition(context: &Context, name: &str, changes: &BuiltInChanges) -> Result<String, AppError> {
    let Some(built_in) = plumbline_bundle::built_in::definition(name) else {
        return Err(AppError::usage(format!("there is no built-in plugin `{name}`")).hint(format!(
            "built-in plugins: {}; for a definition of your own, give `--name` and `--image`",
            sources::built_in_names(Environment::Cluster)
        )));
    };
    if changes.suite.retry_failed > 0 {
        return Err(AppError::usage("`--retry-failed` adds plugins to a run, and this prints one definition")
            .hint("give it to `plumbline run` or `plumbline gen`, or see `plumbline.reruns` in docs/definition.md"));
    }
    let yaml = sources::built_in_yaml(&built_in, Environment::Cluster)?;
    let definition = Definition::parse(yaml)
        .map_err(|error| AppError::system(format!("failed to read built-in plugin `{name}`")).because(&error))?
        .definition;
    let definition = with_run_options(context, definition, changes)?;
    let mut json = definition.to_json();
    if changes.show_default_podspec && definition.pod_spec.is_none() {
        insert(&mut json, "podSpec", default_pod_spec(definition.driver, None));
    }
    let Config { worker_image, image_pull_policy, .. } = Config::default();
    image_of_run(&mut json, changes.image.as_deref().unwrap_or(&worker_image), image_pull_policy);
    let comment = yaml.split_inclusive('\n').take_while(|line| line.starts_with('#'));
    Ok(comment.chain([to_document(&json).as_str()]).collect())
}

/// Applies the options of a run to a built-in definition.
fn with_run_options(
    context: &Context,
    definition: Definition,
    changes: &BuiltInChanges,
) -> Result<Definition, AppError> {
    let run = ClusterRunOptions {
        kubernetes_version: changes.kubernetes_version.clone(),
        plugin_env: changes.plugin_env.clone(),
        ..ClusterRunOptions::default()
    };
    let mut config = run.config(names::DEFAULT_NAMESPACE, None)?;
    let mut definition = Arc::new(definition);
    runtime()?.block_on(suite::apply(context, &changes.suite, &mut config, vec![&mut definition], None))?;
    if !config.e2e_docker_config_file.is_empty() {
        context.reporter.progress(&format!(
            "the credentials stay here: a run that is given `--e2e-docker-config-file` puts them into the Secret `{}`, which this definition mounts",
            config.image_pull_secrets
        ));
    }
    let mut json = run.with_env(&definition)?;
    let version = &config.plumbline.kubernetes_version;
    if !version.is_empty()
        && let Some(Value::String(image)) = json.pointer_mut("/spec/image")
    {
        *image = image.replace(K8S_VERSION_VARIABLE, version);
    }
    Ok(Definition::from_json(json).map_err(|error| refused(&error))?.definition)
}

/// Makes the text of a new definition.
///
/// # Errors
/// The definition would be invalid, or a file cannot be read.
pub fn new_definition(template: &PluginTemplate) -> Result<String, AppError> {
    new(template).map(|json| to_document(&json))
}

fn new(template: &PluginTemplate) -> Result<Value, AppError> {
    if template.driver == Driver::Process {
        return Err(AppError::usage("a plugin with an image is not a process")
            .hint("write `--type job` (once) or `--type daemonset` (on every node)"));
    }
    let name = template.name.as_str();
    name.parse::<PluginName>().map_err(|error| refused(&error.into()))?;
    let mut config = json!({"driver": template.driver, "plugin-name": name, "result-format": template.format});
    if let Some(description) = &template.description {
        insert(&mut config, "description", json!(description));
    }
    if let Some(url) = &template.url {
        insert(&mut config, "source-url", json!(url));
    }
    // A run adds this mount. It shows readers of the definition where results go.
    let mut spec = json!({
        "name": "plugin",
        "image": template.image,
        "command": template.command,
        "volumeMounts": [{"name": names::RESULTS_VOLUME, "mountPath": names::RESULTS_DIR}],
    });
    if !template.args.is_empty() {
        insert(&mut spec, "args", json!(template.args));
    }
    let env = pairs(&template.env, "--env")?;
    if !env.is_empty() {
        let list: Vec<_> = env.iter().map(|(key, value)| json!({"name": key, "value": value})).collect();
        insert(&mut spec, "env", json!(list));
    }
    let mut definition = json!({"sonobuoy-config": config, "spec": spec});
    if let Some(pod) = pod_spec(template)? {
        insert(&mut definition, "podSpec", pod);
    }
    let files = files(template)?;
    if !files.is_empty() {
        insert(&mut definition, "config-map", Value::Object(files));
    }
    // An invalid definition is an error here, not when it is used.
    Ok(Definition::from_json(definition).map_err(|error| refused(&error))?.definition.to_json())
}

/// The pod of a plugin replaces the default pod, so it is made of that.
fn pod_spec(template: &PluginTemplate) -> Result<Option<Value>, AppError> {
    let selector = pairs(&template.node_selector, "--node-selector")?;
    if selector.is_empty() && !template.show_default_podspec {
        return Ok(None);
    }
    let mut pod = default_pod_spec(template.driver, None);
    let mut nodes = match pod.get("nodeSelector") {
        Some(Value::Object(nodes)) => nodes.clone(),
        _ => Map::new(),
    };
    nodes.extend(selector.into_iter().map(|(key, value)| (key, Value::String(value))));
    if !nodes.is_empty() {
        insert(&mut pod, "nodeSelector", Value::Object(nodes));
    }
    Ok(Some(pod))
}

fn files(template: &PluginTemplate) -> Result<Map<String, Value>, AppError> {
    let mut files = Map::new();
    for path in &template.files {
        let what = format!("file `{}` cannot be put into a definition", path.display());
        let text = files::read_text(path, MAX_CONFIG_MAP_BYTES, &what)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if files.insert(name.clone(), Value::String(text)).is_some() {
            return Err(AppError::usage(format!("two files are called `{name}`"))
                .hint("a plugin finds its files in one directory: give them different names"));
        }
    }
    Ok(files)
}

fn pairs(texts: &[String], option: &str) -> Result<Vec<(String, String)>, AppError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(AppError::usage(format!("`{option} {text}` has no key and value")).hint("write `KEY=VALUE`")),
    };
    texts.iter().map(pair).collect()
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

fn refused(error: &DefinitionError) -> AppError {
    AppError::usage("this would be no definition").because(error)
}

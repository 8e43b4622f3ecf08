//! The texts of definitions: built-in ones with changes, and new ones.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_bundle::built_in::Environment;
use plumbline_core::config::PodSecurity;
use plumbline_core::definition::{Definition, DefinitionError, K8S_VERSION_VARIABLE};
use plumbline_core::{Config, Driver, PluginName};
use plumbline_kubernetes::manifest::{MAX_CONFIG_MAP_BYTES, default_pod_spec, image_of_run, to_document};
use plumbline_kubernetes::names;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::manifest::options::ClusterRunOptions;
use crate::runtime::runtime;
use crate::suite::{self, SuiteOptions};
use crate::{files, sources};

/// The definition to print: a built-in one with changes, or a new one.
#[derive(Debug, Clone, clap::Args)]
pub struct DefinitionOptions {
    /// Name of a built-in plugin
    #[arg(value_name = "BUILT-IN", conflicts_with = "name")]
    pub built_in: Option<String>,
    /// Name of the new plugin
    #[arg(short, long, required_unless_present = "built_in")]
    pub name: Option<String>,
    /// Image of the plugin; a built-in plugin uses the image of the run by default
    #[arg(short, long, required_unless_present = "built_in")]
    pub image: Option<String>,
    /// Driver: `job` (once per cluster) or `daemonset` (once per node)
    #[arg(short = 't', long = "type", default_value = "Job", value_name = "DRIVER")]
    pub driver: Driver,
    /// Format of the results
    #[arg(long, alias = "format", short_alias = 'f', default_value = "raw", value_name = "FORMAT")]
    pub result_format: String,
    /// Command of the container; repeatable
    #[arg(short, long, default_value = "./run.sh", allow_hyphen_values = true)]
    pub cmd: Vec<String>,
    /// Argument of the command; repeatable
    #[arg(short, long, allow_hyphen_values = true)]
    pub arg: Vec<String>,
    /// Environment variable; repeatable
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// Label of the nodes to run on; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub node_selector: Vec<String>,
    /// Set a variable in the containers of a built-in plugin, as with `gen` and `run`; an empty
    /// value removes it; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", requires = "built_in")]
    pub plugin_env: Vec<String>,
    /// Kubernetes version in the image of a built-in plugin, such as `v1.30.2` [default: that of
    /// the cluster, at run time]
    #[arg(long, alias = "kube-conformance-image-version", value_name = "VERSION", requires = "built_in")]
    pub kubernetes_version: Option<String>,
    /// File to provide in `$SONOBUOY_CONFIG_DIR`; repeatable
    #[arg(long, value_name = "FILE")]
    pub configmap: Vec<PathBuf>,
    /// One-line description
    #[arg(short = 'D', long)]
    pub description: Option<String>,
    /// URL of the definition's source
    #[arg(short, long)]
    pub url: Option<String>,
    /// Write out the default pod
    #[arg(long)]
    pub show_default_podspec: bool,
    /// Options of the suite.
    #[command(flatten)]
    pub suite: SuiteOptions,
}

/// The text of the definition that `options` describe.
pub fn definition_text(context: &Context, options: &DefinitionOptions) -> Result<String, AppError> {
    if let Some(name) = &options.built_in {
        return built_in_definition(context, name, options);
    }
    if let Some(option) = options.suite.given_for_any() {
        return Err(AppError::usage(format!("`{option}` is for built-in plugins only"))
            .hint("use it with a built-in plugin: `plumbline gen plugin e2e`"));
    }
    new_definition(options).map(|json| to_document(&json))
}

/// A built-in definition with the changes of `options` and an image, so that every reader of
/// definitions can use it. The comment at its start is kept.
fn built_in_definition(context: &Context, name: &str, options: &DefinitionOptions) -> Result<String, AppError> {
    let Some(built_in) = plumbline_bundle::built_in::definition(name) else {
        return Err(AppError::usage(format!("unknown built-in plugin `{name}`")).hint(format!(
            "built-in plugins: {}; for your own definition, set `--name` and `--image`",
            sources::built_in_names(Environment::Cluster)
        )));
    };
    if options.suite.retry_failed > 0 {
        return Err(AppError::usage("`--retry-failed` adds plugins to a run, but this command prints one definition")
            .hint("pass it to `plumbline run` or `plumbline gen`, or see `plumbline.reruns` in docs/definition.md"));
    }
    let yaml = sources::built_in_yaml(&built_in, Environment::Cluster)?;
    let definition =
        Definition::parse(yaml).system_error(format_args!("failed to read built-in plugin `{name}`"))?.definition;
    let definition = with_run_options(context, definition, options)?;
    let mut json = definition.to_json();
    if options.show_default_podspec && definition.pod_spec.is_none() {
        insert(&mut json, "podSpec", default_pod_spec(definition.driver, PodSecurity::Privileged, None));
    }
    let Config { worker_image, image_pull_policy, .. } = Config::default();
    image_of_run(&mut json, options.image.as_deref().unwrap_or(&worker_image), image_pull_policy);
    let comment = yaml.split_inclusive('\n').take_while(|line| line.starts_with('#'));
    Ok(comment.chain([to_document(&json).as_str()]).collect())
}

fn with_run_options(
    context: &Context,
    definition: Definition,
    options: &DefinitionOptions,
) -> Result<Definition, AppError> {
    let run = ClusterRunOptions {
        kubernetes_version: options.kubernetes_version.clone(),
        plugin_env: options.plugin_env.clone(),
        ..ClusterRunOptions::default()
    };
    let mut config = run.config(names::DEFAULT_NAMESPACE, None)?;
    let mut definition = Arc::new(definition);
    runtime()?.block_on(suite::apply(context, &options.suite, &mut config, vec![&mut definition], None))?;
    if !config.e2e_docker_config_file.is_empty() {
        context.reporter.progress(&format!(
            "the definition has no credentials: pass `--e2e-docker-config-file` to the run, which puts them into the Secret `{}`",
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

fn new_definition(options: &DefinitionOptions) -> Result<Value, AppError> {
    if options.driver == Driver::Process {
        return Err(AppError::usage("a plugin of type `process` cannot have an image")
            .hint("write `--type job` (once) or `--type daemonset` (on every node)"));
    }
    let name = options.name.as_deref().unwrap_or_default();
    name.parse::<PluginName>().map_err(|error| refused(&error.into()))?;
    let env = pairs(&options.env, "--env")?;
    let env: Vec<_> = env.iter().map(|(key, value)| json!({"name": key, "value": value})).collect();
    let (pod, files) = (pod_spec(options)?, files(options)?);
    let definition = present(json!({
        "sonobuoy-config": present(json!({
            "driver": options.driver,
            "plugin-name": name,
            "result-format": options.result_format,
            "description": options.description,
            "source-url": options.url,
        })),
        "spec": present(json!({
            "name": "plugin",
            "image": options.image,
            "command": options.cmd,
            "args": Some(&options.arg).filter(|args| !args.is_empty()),
            "env": Some(env).filter(|env| !env.is_empty()),
            // A run adds this mount. It shows readers of the definition where results go.
            "volumeMounts": [{"name": names::RESULTS_VOLUME, "mountPath": names::RESULTS_DIR}],
        })),
        "podSpec": pod,
        "config-map": Some(files).filter(|files| !files.is_empty()),
    }));
    // An invalid definition is an error here, not when it is used.
    Ok(Definition::from_json(definition).map_err(|error| refused(&error))?.definition.to_json())
}

/// The pod of a plugin replaces the default pod, so it is made of that.
fn pod_spec(options: &DefinitionOptions) -> Result<Option<Value>, AppError> {
    let selector = pairs(&options.node_selector, "--node-selector")?;
    if selector.is_empty() && !options.show_default_podspec {
        return Ok(None);
    }
    let mut pod = default_pod_spec(options.driver, PodSecurity::Privileged, None);
    let mut nodes = pod.get("nodeSelector").and_then(Value::as_object).cloned().unwrap_or_default();
    nodes.extend(selector.into_iter().map(|(key, value)| (key, Value::String(value))));
    if !nodes.is_empty() {
        insert(&mut pod, "nodeSelector", Value::Object(nodes));
    }
    Ok(Some(pod))
}

fn files(options: &DefinitionOptions) -> Result<Map<String, Value>, AppError> {
    let mut files = Map::new();
    for path in &options.configmap {
        let what = format!("failed to add file `{}` to the definition", path.display());
        let text = files::read_text(path, MAX_CONFIG_MAP_BYTES, &what)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if files.insert(name.clone(), Value::String(text)).is_some() {
            return Err(AppError::usage(format!("two files have the name `{name}`"))
                .hint("rename one of them: a plugin finds its files in one directory"));
        }
    }
    Ok(files)
}

fn pairs(texts: &[String], option: &str) -> Result<Vec<(String, String)>, AppError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => {
            Err(AppError::usage(format!("invalid `{option} {text}`: it has no key or value")).hint("write `KEY=VALUE`"))
        }
    };
    texts.iter().map(pair).collect()
}

/// The fields of an object that have a value other than `null`.
fn present(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

fn refused(error: &DefinitionError) -> AppError {
    AppError::usage("these options make an invalid definition")
        .because(error)
        .hint("see docs/definition.md for the keys of a definition")
}

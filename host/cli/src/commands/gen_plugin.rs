//! `plumbline gen plugin`

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use plumbline_app::runtime::runtime;
use plumbline_app::{AppError, sources};
use plumbline_bundle::built_in::Place;
use plumbline_core::definition::{Definition, DefinitionError, K8S_VERSION_VARIABLE};
use plumbline_core::{Config, Driver, PluginName};
use plumbline_kubernetes::manifest::{MAX_CONFIG_MAP_BYTES, default_pod_spec, image_of_run, to_document};
use plumbline_kubernetes::names;
use serde_json::{Map, Value, json};

use super::gen_delivery;
use crate::args::{ClusterRunArgs, GenPluginArgs, RegistryArgs};
use crate::commands::suite;
use crate::context::context;
use crate::ui::say;

/// Prints the definition of a built-in plugin, or a new one.
pub(crate) fn plugin(args: &GenPluginArgs) -> Result<ExitCode, AppError> {
    let text = match &args.built_in {
        Some(name) => built_in(name, args)?,
        None => {
            if let Some(option) = suite::any(&args.suite) {
                return Err(AppError::usage(format!("`{option}` is for a built-in plugin, and this one is new"))
                    .hint("`plumbline gen plugin e2e` takes it"));
            }
            to_document(&new(args)?)
        }
    };
    write!(std::io::stdout(), "{text}")
        .map_err(|error| AppError::printing("failed to print the definition", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// As it is in the program, with its image: whatever reads definitions can use it. What stands above it, for people, is kept.
fn built_in(name: &str, args: &GenPluginArgs) -> Result<String, AppError> {
    let Some(built_in) = plumbline_bundle::built_in::definition(name) else {
        return Err(AppError::usage(format!("there is no built-in plugin `{name}`")).hint(format!(
            "built-in plugins: {}; for a definition of your own, give `--name` and `--image`",
            sources::built_in_names(Place::Cluster)
        )));
    };
    if args.suite.retry_failed > 0 {
        return Err(AppError::usage("`--retry-failed` adds plugins to a run, and this prints one definition")
            .hint("give it to `plumbline run` or `plumbline gen`, or see `plumbline.reruns` in docs/definition.md"));
    }
    let yaml = sources::built_in_yaml(&built_in, Place::Cluster)?;
    let definition = Definition::parse(yaml)
        .map_err(|error| AppError::system(format!("failed to read built-in plugin `{name}`")).because(&error))?
        .definition;
    let definition = with_run_options(definition, args)?;
    let mut json = definition.to_json();
    if args.show_default_podspec && definition.pod_spec.is_none() {
        insert(&mut json, "podSpec", default_pod_spec(definition.driver));
    }
    let Config { worker_image, image_pull_policy, .. } = Config::default();
    image_of_run(&mut json, args.image.as_deref().unwrap_or(&worker_image), image_pull_policy);
    let comment = yaml.split_inclusive('\n').take_while(|line| line.starts_with('#'));
    Ok(comment.chain([to_document(&json).as_str()]).collect())
}

/// What options of a run make of a built-in definition.
fn with_run_options(definition: Definition, args: &GenPluginArgs) -> Result<Definition, AppError> {
    let run = ClusterRunArgs {
        kubernetes_version: args.kubernetes_version.clone(),
        plugin_env: args.plugin_env.clone(),
        ..ClusterRunArgs::default()
    };
    let mut config = run.config(names::DEFAULT_NAMESPACE, None)?;
    let mut definition = Arc::new(definition);
    runtime()?.block_on(suite::settle(
        &context(&RegistryArgs::default()),
        &args.suite,
        &mut config,
        vec![&mut definition],
        None,
    ))?;
    if !config.e2e_docker_config_file.is_empty() {
        say(&format!(
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

fn new(args: &GenPluginArgs) -> Result<Value, AppError> {
    if args.driver == Driver::Process {
        return Err(AppError::usage("a plugin with an image is not a process")
            .hint("write `--type job` (once) or `--type daemonset` (on every node)"));
    }
    let name = args.name.as_deref().unwrap_or_default();
    name.parse::<PluginName>().map_err(|error| refused(&error.into()))?;
    let mut config = json!({"driver": args.driver, "plugin-name": name, "result-format": args.format});
    if let Some(description) = &args.description {
        insert(&mut config, "description", json!(description));
    }
    if let Some(url) = &args.url {
        insert(&mut config, "source-url", json!(url));
    }
    // The mount shows whoever reads it where results go; a run puts it in by itself.
    let mut spec = json!({
        "name": "plugin",
        "image": args.image,
        "command": args.cmd,
        "volumeMounts": [{"name": names::RESULTS_VOLUME, "mountPath": names::RESULTS_DIR}],
    });
    if !args.arg.is_empty() {
        insert(&mut spec, "args", json!(args.arg));
    }
    let env = pairs(&args.env, "--env")?;
    if !env.is_empty() {
        let list: Vec<_> = env.iter().map(|(key, value)| json!({"name": key, "value": value})).collect();
        insert(&mut spec, "env", json!(list));
    }
    let mut definition = json!({"sonobuoy-config": config, "spec": spec});
    if let Some(pod) = pod_spec(args)? {
        insert(&mut definition, "podSpec", pod);
    }
    let files = files(args)?;
    if !files.is_empty() {
        insert(&mut definition, "config-map", Value::Object(files));
    }
    // Nothing is printed that would be refused when it is used.
    Ok(Definition::from_json(definition).map_err(|error| refused(&error))?.definition.to_json())
}

/// A pod of its own takes the place of the default, which therefore is where it begins.
fn pod_spec(args: &GenPluginArgs) -> Result<Option<Value>, AppError> {
    let selector = pairs(&args.node_selector, "--node-selector")?;
    if selector.is_empty() && !args.show_default_podspec {
        return Ok(None);
    }
    let mut pod = default_pod_spec(args.driver);
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

fn files(args: &GenPluginArgs) -> Result<Map<String, Value>, AppError> {
    let mut files = Map::new();
    for path in &args.configmap {
        let what = format!("file `{}` cannot be put into a definition", path.display());
        let text = gen_delivery::text(path, MAX_CONFIG_MAP_BYTES, &what)?;
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

//! `plumbline gen`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::limits::Limits;
use plumbline_app::manifest::{
    self, Answers, BuiltInChanges, Circumstances, ClusterRunOptions, PluginTemplate, SuiteChecks,
};
use plumbline_app::runtime::runtime;
use plumbline_app::suite::{DEFAULT_PLUGINS, SuiteOptions};
use plumbline_app::{AppError, judges, sources};
use plumbline_bundle::built_in::Environment;
use plumbline_conformance::images;
use plumbline_core::definition::{definition_schema_text, module_schema_text};
use plumbline_kubernetes::manifest::{ManifestOptions, rbac, to_yaml};
use plumbline_kubernetes::names;
use serde_json::Value;

use crate::args::{
    GenArgs, GenCommand, GenConfigArgs, GenImageConfigArgs, GenManifestArgs, GenPluginArgs, GenSchemaArgs, Global,
    Level, RegistryArgs, SchemaOf, Time,
};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// The largest object that `kubectl apply` accepts, in bytes: it keeps a copy in an annotation.
const MAX_APPLIED: usize = 256 << 10;

/// Prints the manifest of a run, a configuration, or a definition.
pub(crate) fn generate(args: &GenArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    match &args.command {
        None => print_manifest(&args.manifest, global),
        Some(GenCommand::Config(args)) => config(args),
        Some(GenCommand::Plugin(args)) => plugin(args),
        Some(GenCommand::DefaultImageConfig(args)) => image_config(args),
        Some(GenCommand::Schema(args)) => schema(args),
    }
}

fn print_manifest(args: &GenManifestArgs, global: &Global) -> Result<ExitCode, AppError> {
    let context = context(&args.registry);
    let mut plugins = sources::find_all(&context, &args.plugins, &DEFAULT_PLUGINS, Environment::Cluster)?;
    judges::apply(&context, &(&args.judge).into(), &mut plugins, &Limits::default())?;
    let run = ClusterRunOptions::from(&args.run);
    let config = run.config(&args.cluster.namespace, args.timeout.map(Time::span))?;
    manifest::check_modules(&plugins, &config)?;
    let questions = run.questions(&config, false);
    let runtime = runtime()?;
    let answers = match questions.any() {
        true => runtime.block_on(manifest::ask_cluster(&args.cluster.connect_options()))?,
        false => Answers::default(),
    };
    let circumstances = Circumstances {
        plugins,
        log_level: aggregator_log_level(global),
        server: answers.version,
        serves_rbac: answers.serves_rbac,
    };
    let unknown_version = questions.version && circumstances.server.is_none();
    // The cluster may be able to reach registries that this machine cannot.
    let checks = SuiteChecks::Tests;
    let options =
        runtime.block_on(manifest::compose(&context, &run, &(&args.suite).into(), config, circumstances, checks))?;
    let objects = manifest::objects(&options)?;
    if unknown_version {
        let why = answers.silence.as_deref().unwrap_or("it was not asked");
        say(&format!(
            "warning: the version of the cluster is not known, and plugins are not told it: name it with `--kubernetes-version`\n  {why}"
        ));
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", to_yaml(&objects))
        .and_then(|()| out.flush())
        .map_err(|error| AppError::printing("failed to print the manifest", &error))?;
    advise(&options, &objects);
    Ok(ExitCode::SUCCESS)
}

/// The log level of the aggregator: at least `info`, because its log is read from outside.
pub(crate) fn aggregator_log_level(global: &Global) -> String {
    match global.level {
        Level::Debug => "debug",
        Level::Trace => "trace",
        _ => "info",
    }
    .to_owned()
}

/// Prints what users should know before they apply the manifest.
fn advise(options: &ManifestOptions, objects: &[Value]) {
    if options.rbac {
        say(&format!("permissions in the mode `{}`:", options.config.aggregator_permissions));
        for line in rbac::why(options) {
            say(&format!("  {line}"));
        }
    }
    for line in rbac::notices(options) {
        say(&format!("note: {line}"));
    }
    if objects.iter().any(|object| object.to_string().len() > MAX_APPLIED) {
        say("some objects are too large for `kubectl apply`: use `kubectl create`, or `kubectl apply --server-side`");
    }
}

/// Prints the configuration: the defaults with the changes that options make.
pub(crate) fn config(args: &GenConfigArgs) -> Result<ExitCode, AppError> {
    let namespace = args.namespace.as_deref().unwrap_or(names::DEFAULT_NAMESPACE);
    let config = ClusterRunOptions::from(&args.run).config(namespace, args.timeout.map(Time::span))?;
    let text = serde_json::to_string_pretty(&config)
        .map_err(|error| AppError::system("failed to write the configuration").because(&error))?;
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| AppError::printing("failed to print the configuration", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a JSON Schema, as it is in the documentation.
pub(crate) fn schema(args: &GenSchemaArgs) -> Result<ExitCode, AppError> {
    let text = match args.of {
        SchemaOf::Definition => definition_schema_text(),
        SchemaOf::Module => module_schema_text(),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| AppError::printing("failed to print the schema", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the file of registries.
pub(crate) fn image_config(args: &GenImageConfigArgs) -> Result<ExitCode, AppError> {
    let text = args.prefix.as_ref().map_or_else(images::defaults, images::repo_config);
    write!(std::io::stdout(), "{text}")
        .map_err(|error| AppError::printing("failed to print the file of registries", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the definition of a built-in plugin, or of a new one.
fn plugin(args: &GenPluginArgs) -> Result<ExitCode, AppError> {
    let suite = SuiteOptions::from(&args.suite);
    let text = match &args.built_in {
        Some(name) => {
            let changes = BuiltInChanges {
                image: args.image.clone(),
                plugin_env: args.plugin_env.clone(),
                kubernetes_version: args.kubernetes_version.clone(),
                show_default_podspec: args.show_default_podspec,
                suite,
            };
            manifest::built_in_definition(&context(&RegistryArgs::default()), name, &changes)?
        }
        None => {
            if let Some(option) = suite.given_for_any() {
                return Err(AppError::usage(format!("`{option}` is for a built-in plugin, and this one is new"))
                    .hint("`plumbline gen plugin e2e` takes it"));
            }
            manifest::new_definition(&PluginTemplate {
                name: args.name.clone().unwrap_or_default(),
                image: args.image.clone(),
                driver: args.driver,
                format: args.format.clone(),
                command: args.cmd.clone(),
                args: args.arg.clone(),
                env: args.env.clone(),
                node_selector: args.node_selector.clone(),
                files: args.configmap.clone(),
                description: args.description.clone(),
                url: args.url.clone(),
                show_default_podspec: args.show_default_podspec,
            })?
        }
    };
    write!(std::io::stdout(), "{text}")
        .map_err(|error| AppError::printing("failed to print the definition", &error))?;
    Ok(ExitCode::SUCCESS)
}

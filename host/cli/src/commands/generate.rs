//! `plumbline gen`

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::limits::Limits;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::{self, definitions};
use plumbline_app::{AppError, judges};
use plumbline_bundle::built_in::Place;
use plumbline_conformance::images;
use plumbline_core::definition::{definition_schema_text, module_schema_text};
use plumbline_kubernetes::manifest::{ManifestError, ManifestOptions, manifest, rbac, to_yaml};
use plumbline_kubernetes::{Cluster, ClusterError, ServerVersion, names};
use serde_json::Value;

use super::gen_delivery::check_modules;
use crate::args::{
    GenArgs, GenCommand, GenConfigArgs, GenImageConfigArgs, GenManifestArgs, GenSchemaArgs, Global, SchemaOf,
};
use crate::commands::gen_options::Circumstances;
use crate::commands::{gen_plugin, suite};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// How long the cluster is asked. What it would tell can be told by options.
const PATIENCE: Duration = Duration::from_secs(15);

/// The largest object that `kubectl apply` takes: it keeps a copy in an annotation, and annotations have 256 KiB.
const MAX_APPLIED: usize = 256 << 10;

/// Prints the manifest of a run, a configuration, or a definition.
pub(crate) fn generate(args: &GenArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    match &args.command {
        None => print_manifest(&args.manifest, global),
        Some(GenCommand::Config(args)) => config(args),
        Some(GenCommand::Plugin(args)) => gen_plugin::plugin(args),
        Some(GenCommand::DefaultImageConfig(args)) => image_config(args),
        Some(GenCommand::Schema(args)) => schema(args),
    }
}

fn print_manifest(args: &GenManifestArgs, global: &Global) -> Result<ExitCode, AppError> {
    let context = context(&args.registry);
    let find = |reference: &String| sources::find(&context, reference, Place::Cluster);
    let mut found = args.plugins.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() {
        let default = suite::DEFAULT_PLUGINS.iter().map(|name| sources::find(&context, name, Place::Cluster));
        found = default.collect::<Result<_, _>>()?;
    }
    for plugin in &found {
        for warning in &plugin.warnings {
            say(&format!("warning: `{}`: {warning}", plugin.origin));
        }
    }
    judges::apply(&context, &(&args.judge).into(), &mut found, &Limits::default())?;
    let mut config = args.run.config(&args.cluster.namespace, args.timeout)?;
    check_modules(&found, &config)?;
    let questions = args.run.questions(&config, false);
    let answers = if questions.any() { ask(args)? } else { Answers::default() };
    let runtime = runtime()?;
    runtime.block_on(suite::settle(
        &context,
        &args.suite,
        &mut config,
        definitions(&mut found),
        answers.version.as_ref(),
    ))?;
    let mut options = args.run.manifest_options(
        &context,
        config,
        Circumstances { found, level: global.level, server: answers.version, serves_rbac: answers.serves_rbac },
    )?;
    options.ssh_key = suite::ssh_key(&args.suite)?;
    suite::retry(&args.suite, &mut options)?;
    // Whoever prints a manifest may be somewhere else than whoever creates it, who asks the registry.
    runtime.block_on(suite::look(&context, &args.suite, &options, false))?;
    let objects = objects(&options)?;
    if questions.version && options.server.is_none() {
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

/// The objects of a run, or what is wrong with what they are to be made of.
pub(crate) fn objects(options: &ManifestOptions) -> Result<Vec<Value>, AppError> {
    manifest(options).map_err(|error| {
        let told = AppError::usage("the run cannot be put into a cluster").because(&error);
        match error {
            ManifestError::NoVersion { .. } => told.hint(
                "name it with `--kubernetes-version`, such as `v1.30.2`, or a cluster to ask with `--kubeconfig`",
            ),
            ManifestError::Process(_) => {
                told.hint("leave it out, or give it the driver `Job` or `DaemonSet` and an image")
            }
            ManifestError::ModulesTooLarge(_) | ManifestError::TooManyModules(_) => told.hint(
                "let the aggregator fetch them: push the bundle (`plumbline plugin push`) and name it `oci://…`, or bake it into the image (`plumbline plugin bake`)",
            ),
            ManifestError::TooLarge { .. } | ManifestError::ModuleSize { .. } => {
                told.hint("put large files into the plugin's image")
            }
            _ => told,
        }
    })
}

/// What the cluster says about itself.
#[derive(Debug, Default)]
struct Answers {
    version: Option<ServerVersion>,
    serves_rbac: Option<bool>,
    /// Why nothing was said.
    silence: Option<String>,
}

/// Asks the cluster. A cluster that is named must answer; without one, what it would tell is simply not known.
fn ask(args: &GenManifestArgs) -> Result<Answers, AppError> {
    let named = args.cluster.kubeconfig.is_some() || args.cluster.context.is_some();
    let asked = runtime()?.block_on(async {
        let late =
            || ClusterError::new("ask the cluster", format!("it did not answer within {} s", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, answers(args)).await.unwrap_or_else(|_| Err(late()))
    });
    match asked {
        Ok(answers) => Ok(answers),
        Err(error) if named => Err(AppError::cluster(&error)),
        Err(error) => Ok(Answers { silence: Some(error.to_string()), ..Answers::default() }),
    }
}

async fn answers(args: &GenManifestArgs) -> Result<Answers, ClusterError> {
    let cluster = Cluster::connect(&args.cluster.connect_options()).await?;
    let version = cluster.version().await?;
    Ok(Answers { version: Some(version), serves_rbac: Some(serves_rbac(&cluster).await?), silence: None })
}

/// Whether the cluster knows roles.
pub(crate) async fn serves_rbac(cluster: &Cluster) -> Result<bool, ClusterError> {
    let groups = cluster.client().list_api_groups().await;
    let groups = groups.map_err(|error| ClusterError::api("ask the API server for its groups", &error))?;
    Ok(groups.groups.iter().any(|group| group.name == "rbac.authorization.k8s.io"))
}

/// What a person should know who is about to apply it.
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

/// Prints the configuration: the defaults, with what the options change.
pub(crate) fn config(args: &GenConfigArgs) -> Result<ExitCode, AppError> {
    let namespace = args.namespace.as_deref().unwrap_or(names::DEFAULT_NAMESPACE);
    let config = args.run.config(namespace, args.timeout)?;
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

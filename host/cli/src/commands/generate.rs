//! `plumbline gen`

use std::io::Write;
use std::iter;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use jiff::Timestamp;
use plumbline_app::cluster_run::apply_default_profile;
use plumbline_app::judges::{self, JudgeOptions};
use plumbline_app::manifest::{
    self, Answers, Circumstances, ClusterRunOptions, DefinitionOptions, ScheduleOptions, SuiteChecks, definition_text,
};
use plumbline_app::modules::Limits;
use plumbline_app::report::{RESULTS_SCHEMA, print_json};
use plumbline_app::runtime::runtime;
use plumbline_app::suite::{SuiteOptions, default_plugins};
use plumbline_app::{AppError, Explain as _, sources};
use plumbline_bundle::built_in::Environment;
use plumbline_bundle::profile::profile_schema_text;
use plumbline_conformance::images::{self, Prefix};
use plumbline_core::definition::{definition_schema_text, module_schema_text};
use plumbline_core::duration::parse_duration;
use plumbline_kubernetes::manifest::{ManifestOptions, rbac, to_yaml};
use plumbline_kubernetes::names;
use serde_json::{Value, json};

use crate::args::global::{Global, Level};
use crate::args::shared::{RegistryArgs, RunFormat, context};
use crate::commands::cluster::ClusterArgs;
use crate::output::print_raw;
use crate::ui::say;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GenArgs {
    #[command(subcommand)]
    pub(crate) command: Option<GenCommand>,
    #[command(flatten)]
    pub(crate) manifest: GenManifestArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenCommand {
    /// Print the configuration: the defaults, as changed by options
    Config(Box<GenConfigArgs>),
    /// Print the definition of a built-in plugin, or of a new one
    Plugin(Box<GenPluginArgs>),
    /// Print the registries of the suite's images, for `plumbline run --e2e-repo-config`
    DefaultImageConfig {
        /// Registry or path that has the images
        #[arg(long = "registry", value_name = "PREFIX")]
        prefix: Option<Prefix>,
        /// Print the registries in this format
        #[arg(short = 'o', long = "output", value_enum, default_value = "yaml", value_name = "FORMAT")]
        format: RunFormat,
    },
    /// Print the JSON Schema of definitions, `module.yaml` or `profile.yaml`, for editors
    Schema {
        /// File to describe
        #[arg(value_enum, default_value = "definition")]
        of: SchemaOf,
    },
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenManifestArgs {
    /// A plugin: the name of a built-in plugin, a definition or packed bundle (file or URL), a
    /// directory with `plugin.yaml`, or `-` for standard input. `FILE@NAME` names the plugin NAME;
    /// repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// Time limit of plugins whose definition has none, such as `90m`; `0` for no limit
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print the manifest in this format; JSON is one list
    #[arg(short = 'o', long = "output", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) run: ClusterRunOptions,
    #[command(flatten)]
    pub(crate) schedule: ScheduleOptions,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    #[command(flatten)]
    pub(crate) suite: SuiteOptions,
    #[command(flatten)]
    pub(crate) judge: JudgeOptions,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenConfigArgs {
    /// Namespace of the run
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Time limit of each plugin, such as `90m`; `0` for no limit
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print the configuration in this format
    #[arg(short = 'o', long = "output", value_enum, default_value = "json", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) run: ClusterRunOptions,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenPluginArgs {
    #[command(flatten)]
    pub(crate) options: DefinitionOptions,
    /// Print the definition in this format
    #[arg(short = 'o', long = "output", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) output: RunFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The definition of a plugin, `plugin.yaml`
    Definition,
    /// The project of a module, `module.yaml`
    Module,
    /// The profile of a suite, `profile.yaml`
    Profile,
    /// The document that `results -o json` prints
    Results,
}

/// The largest object that `kubectl apply` accepts, in bytes: it keeps a copy in an annotation.
const MAX_APPLIED: usize = 256 << 10;

/// The number of runs of a schedule whose times are printed.
const SHOWN_RUNS: usize = 3;

/// Prints the manifest of a run, a configuration, or a definition.
pub(crate) fn generate(args: &GenArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        None => print_manifest(&args.manifest, global),
        Some(GenCommand::Config(args)) => config(args),
        Some(GenCommand::Plugin(args)) => plugin(args),
        Some(GenCommand::DefaultImageConfig { prefix, format }) => image_config(prefix.as_ref(), *format),
        Some(GenCommand::Schema { of }) => schema(*of),
    }
}

fn print_manifest(args: &GenManifestArgs, global: &Global) -> Result<ExitCode, AppError> {
    let context = context(&args.registry);
    let mut plugins = sources::find_all(&context, &args.plugins, &default_plugins()?, Environment::Cluster)?;
    let (run, cluster) = (&args.run, args.cluster.connect_options());
    let version = run.kubernetes_version.as_deref();
    let by_default = args.plugins.is_empty() && apply_default_profile(&context, &mut plugins, &cluster, version)?;
    judges::apply(&context, &args.judge, &mut plugins, by_default, &Limits::default())?;
    let mut config = run.config(&args.cluster.namespace, args.timeout)?;
    args.schedule.apply(&mut config);
    manifest::check_modules(&plugins, &config)?;
    let questions = run.questions(&config, false);
    let runtime = runtime()?;
    let answers = match questions.any() {
        true => runtime.block_on(manifest::ask_cluster(&cluster))?,
        false => Answers::default(),
    };
    let circumstances = Circumstances {
        plugins,
        retries: args.suite.retries(),
        log_level: aggregator_log_level(global),
        server: answers.version,
        serves_rbac: answers.serves_rbac,
    };
    let unknown_version = questions.version && circumstances.server.is_none();
    // The cluster may be able to reach registries that this machine cannot.
    let checks = SuiteChecks::Tests;
    let options = runtime.block_on(manifest::compose(&context, run, &args.suite, config, circumstances, checks))?;
    let objects = manifest::objects(&options)?;
    if unknown_version {
        let why = answers.silence.as_deref().unwrap_or("no cluster was queried");
        say(&format!(
            "warning: the version of the cluster is unknown, so plugins do not get it: set it with `--kubernetes-version`\n  {why}"
        ));
    }
    print_raw("failed to print the manifest", |out| match args.format {
        RunFormat::Yaml => writeln!(out, "{}", to_yaml(&objects)),
        RunFormat::Json => print_json(&json!({"apiVersion": "v1", "kind": "List", "items": objects}), out),
    })?;
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
    if let Some(schedule) = &options.config.plumbline.schedule {
        let next = iter::successors(schedule.next(Timestamp::now()), |time| schedule.next(*time));
        let next: Vec<String> = next.take(SHOWN_RUNS).map(|time| time.to_string()).collect();
        say(&format!(
            "schedule `{}` in the time zone {}; next runs: {}",
            schedule.cron,
            schedule.zone,
            next.join(", ")
        ));
    }
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

/// Prints the configuration: the defaults, as changed by options.
pub(crate) fn config(args: &GenConfigArgs) -> Result<ExitCode, AppError> {
    let namespace = args.namespace.as_deref().unwrap_or(names::DEFAULT_NAMESPACE);
    let config = args.run.config(namespace, args.timeout)?;
    print_raw("failed to print the configuration", |out| args.format.write(&config, out))
}

/// Prints a JSON Schema, as it is in the documentation.
fn schema(of: SchemaOf) -> Result<ExitCode, AppError> {
    let text = match of {
        SchemaOf::Definition => definition_schema_text(),
        SchemaOf::Module => module_schema_text(),
        SchemaOf::Profile => profile_schema_text(),
        SchemaOf::Results => RESULTS_SCHEMA,
    };
    print_raw("failed to print the schema", |out| out.write_all(text.as_bytes()))
}

/// Prints the file of registries.
fn image_config(prefix: Option<&Prefix>, format: RunFormat) -> Result<ExitCode, AppError> {
    let text = prefix.map_or_else(images::defaults, images::repo_config);
    print_text(&text, format, "failed to print the file of registries")
}

/// Prints the definition of a built-in plugin, or of a new one.
fn plugin(args: &GenPluginArgs) -> Result<ExitCode, AppError> {
    let text = definition_text(&context(&RegistryArgs::default()), &args.options)?;
    print_text(&text, args.output, "failed to print the definition")
}

/// Prints a YAML document, as it is or as JSON. `failed` is the summary of errors.
fn print_text(yaml: &str, format: RunFormat, failed: &str) -> Result<ExitCode, AppError> {
    match format {
        RunFormat::Yaml => print_raw(failed, |out| write!(out, "{yaml}")),
        RunFormat::Json => {
            let document: Value = serde_saphyr::from_str(yaml).system_error(failed)?;
            print_raw(failed, |out| print_json(&document, out))
        }
    }
}

//! `plumbline gen`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_conformance::images::Prefix;
use plumbline_core::Driver;

use super::time::Time;
use super::{ClusterArgs, ClusterRunArgs, JudgeArgs, RegistryArgs, SuiteArgs};

/// Print what a run in a cluster is made of.
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
    /// Print the configuration: the defaults, with what options change
    Config(Box<GenConfigArgs>),
    /// Print the definition of a plugin: a built-in one by its name, or a new one
    Plugin(Box<GenPluginArgs>),
    /// Print the file of registries that `plumbline run --e2e-repo-config` takes: what the suite uses by itself, or what it is told for a registry
    DefaultImageConfig(GenImageConfigArgs),
    /// Print the JSON Schema of definitions, or of `module.yaml`, for editors
    Schema(GenSchemaArgs),
}

/// `plumbline gen`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenManifestArgs {
    /// A plugin: the name of a built-in plugin, a definition or a packed bundle (a file, or its address), a directory with `plugin.yaml`, or
    /// `-` for standard input; `FILE@NAME` calls the plugin NAME; repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// How long each plugin may take, unless its definition says otherwise: seconds, or a duration such as `90m`; 0 for no limit
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Time>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) run: ClusterRunArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// `plumbline gen config`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenConfigArgs {
    /// The namespace of the run
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// How long each plugin may take: seconds, or a duration such as `90m`; 0 for no limit
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Time>,
    #[command(flatten)]
    pub(crate) run: ClusterRunArgs,
}

/// `plumbline gen default-image-config`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenImageConfigArgs {
    /// For a cluster that has the images below this place
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) prefix: Option<Prefix>,
}

/// `plumbline gen schema`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenSchemaArgs {
    /// Of which file
    #[arg(value_enum, default_value = "definition")]
    pub(crate) of: SchemaOf,
}

/// The files that there is a schema of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The definition of a plugin, `plugin.yaml`
    Definition,
    /// The project of a module, `module.yaml`
    Module,
}

/// `plumbline gen plugin`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenPluginArgs {
    /// The name of a built-in plugin
    #[arg(value_name = "BUILT-IN", conflicts_with = "name")]
    pub(crate) built_in: Option<String>,
    /// The new plugin's name
    #[arg(short, long, required_unless_present = "built_in")]
    pub(crate) name: Option<String>,
    /// Its image; a built-in plugin has the image of a run unless another is named
    #[arg(short, long, required_unless_present = "built_in")]
    pub(crate) image: Option<String>,
    /// How it is executed: `job` (once) or `daemonset` (on every node)
    #[arg(short = 't', long = "type", default_value = "Job", value_name = "DRIVER")]
    pub(crate) driver: Driver,
    /// How its results are read
    #[arg(short, long, default_value = "raw")]
    pub(crate) format: String,
    /// The command in the container; repeatable
    #[arg(short, long, default_value = "./run.sh", allow_hyphen_values = true)]
    pub(crate) cmd: Vec<String>,
    /// An argument of the command; repeatable
    #[arg(short, long, allow_hyphen_values = true)]
    pub(crate) arg: Vec<String>,
    /// A variable in its environment; repeatable
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// A label of the nodes that it runs on; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) node_selector: Vec<String>,
    /// A variable for the containers of a built-in plugin, as `gen` and `run` take it; an empty value removes it; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", requires = "built_in")]
    pub(crate) plugin_env: Vec<String>,
    /// The version that stands in the image of a built-in plugin: one such as `v1.30.2`; without it, the run puts the cluster's there
    #[arg(long, alias = "kube-conformance-image-version", value_name = "VERSION", requires = "built_in")]
    pub(crate) kubernetes_version: Option<String>,
    /// A file that it finds in `$SONOBUOY_CONFIG_DIR`; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) configmap: Vec<PathBuf>,
    /// One line for a person
    #[arg(short = 'D', long)]
    pub(crate) description: Option<String>,
    /// Where the definition comes from
    #[arg(short, long)]
    pub(crate) url: Option<String>,
    /// Write out the default pod
    #[arg(long)]
    pub(crate) show_default_podspec: bool,
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
}

//! `plumbline gen`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_conformance::images::Prefix;
use plumbline_core::Driver;

use super::time::Time;
use super::{ClusterArgs, ClusterRunArgs, JudgeArgs, RegistryArgs, SuiteArgs};

/// Generate the manifest of a run, its configuration, or the definition of a plugin.
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
    /// Print the configuration: the defaults with the changes that options make
    Config(Box<GenConfigArgs>),
    /// Print the definition of a built-in plugin, or of a new one
    Plugin(Box<GenPluginArgs>),
    /// Print the registries of the suite's images, for `plumbline run --e2e-repo-config`
    DefaultImageConfig(GenImageConfigArgs),
    /// Print the JSON Schema of definitions or of `module.yaml`, for editors
    Schema(GenSchemaArgs),
}

/// `plumbline gen`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenManifestArgs {
    /// A plugin: the name of a built-in plugin, a definition or packed bundle (file or URL), a
    /// directory with `plugin.yaml`, or `-` for standard input. `FILE@NAME` names the plugin NAME;
    /// repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// Time limit of plugins whose definition has none: seconds, or a duration such as `90m`; 0 for
    /// no limit
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
    /// Namespace of the run
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Time limit of each plugin: seconds, or a duration such as `90m`; 0 for no limit
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Time>,
    #[command(flatten)]
    pub(crate) run: ClusterRunArgs,
}

/// `plumbline gen default-image-config`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenImageConfigArgs {
    /// Registry or path that has the images
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) prefix: Option<Prefix>,
}

/// `plumbline gen schema`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GenSchemaArgs {
    /// File to describe
    #[arg(value_enum, default_value = "definition")]
    pub(crate) of: SchemaOf,
}

/// Files with a schema.
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
    /// Name of a built-in plugin
    #[arg(value_name = "BUILT-IN", conflicts_with = "name")]
    pub(crate) built_in: Option<String>,
    /// Name of the new plugin
    #[arg(short, long, required_unless_present = "built_in")]
    pub(crate) name: Option<String>,
    /// Image of the plugin; a built-in plugin uses the image of the run by default
    #[arg(short, long, required_unless_present = "built_in")]
    pub(crate) image: Option<String>,
    /// Driver: `job` (once per cluster) or `daemonset` (once per node)
    #[arg(short = 't', long = "type", default_value = "Job", value_name = "DRIVER")]
    pub(crate) driver: Driver,
    /// Format of the results
    #[arg(short, long, default_value = "raw")]
    pub(crate) format: String,
    /// Command of the container; repeatable
    #[arg(short, long, default_value = "./run.sh", allow_hyphen_values = true)]
    pub(crate) cmd: Vec<String>,
    /// Argument of the command; repeatable
    #[arg(short, long, allow_hyphen_values = true)]
    pub(crate) arg: Vec<String>,
    /// Environment variable; repeatable
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Label of the nodes to run on; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) node_selector: Vec<String>,
    /// Set a variable in the containers of a built-in plugin, as with `gen` and `run`; an empty
    /// value removes it; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", requires = "built_in")]
    pub(crate) plugin_env: Vec<String>,
    /// Kubernetes version in the image of a built-in plugin, such as `v1.30.2` [default: that of
    /// the cluster, at run time]
    #[arg(long, alias = "kube-conformance-image-version", value_name = "VERSION", requires = "built_in")]
    pub(crate) kubernetes_version: Option<String>,
    /// File to provide in `$SONOBUOY_CONFIG_DIR`; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) configmap: Vec<PathBuf>,
    /// One-line description
    #[arg(short = 'D', long)]
    pub(crate) description: Option<String>,
    /// URL of the definition's source
    #[arg(short, long)]
    pub(crate) url: Option<String>,
    /// Write out the default pod
    #[arg(long)]
    pub(crate) show_default_podspec: bool,
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
}

//! `plumbline images`

use std::path::PathBuf;

use clap::Subcommand;
use plumbline_conformance::images::Prefix;
use plumbline_registry::Platform;

use super::{DataFormat, RegistryArgs};

/// Heading of the options that select images.
const SET: &str = "Image selection";

/// List, copy and check the images that a run needs.
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesArgs {
    #[command(subcommand)]
    pub(crate) command: ImagesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// List the images that a run needs, and why
    List(ImagesListArgs),
    /// Copy the images from their registries to another registry
    Copy(ImagesCopyArgs),
    /// Copy the images to an OCI layout on disk: a directory or a tar
    Save(ImagesSaveArgs),
    /// Copy the images of an OCI layout to a registry
    Load(ImagesLoadArgs),
    /// Copy the images to your own layout, for `push`
    Pull(ImagesPullArgs),
    /// Copy the images of the last `pull` to a registry
    Push(ImagesPushArgs),
    /// List images that are missing or different in a registry
    // Sonobuoy looks with `inspect` whether images are there.
    #[command(alias = "inspect")]
    Check(ImagesCheckArgs),
}

/// The images of a command: those of a run, or those named on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImageSetArgs {
    /// Use these images instead of those of a run
    #[arg(value_name = "IMAGE", conflicts_with_all = ["plugins", "kubernetes_version", "conformance_image", "own_image", "suite_list", "repo_config"])]
    pub(crate) images: Vec<String>,
    /// Plugin of the run, as for `run --plugin`; repeatable [default: `e2e` and `systemd-logs`]
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL", help_heading = SET)]
    pub(crate) plugins: Vec<String>,
    /// Version of the suite, such as `v1.30.2`; `auto`: that of the cluster; `latest`: that of the
    /// latest build
    #[arg(long, value_name = "VERSION", help_heading = SET)]
    pub(crate) kubernetes_version: Option<String>,
    /// Image of the suite [default: `registry.k8s.io/conformance` of the version]
    #[arg(long = "kube-conformance-image", value_name = "IMAGE", help_heading = SET)]
    pub(crate) conformance_image: Option<String>,
    /// Image of the aggregator and the workers
    #[arg(long = "sonobuoy-image", visible_alias = "image", value_name = "IMAGE", help_heading = SET)]
    pub(crate) own_image: Option<String>,
    /// List of the suite's images, one per line (`-`: standard input), instead of asking the
    /// suite's image for it
    #[arg(long = "list", value_name = "FILE", help_heading = SET)]
    pub(crate) suite_list: Option<PathBuf>,
    /// Registries that the suite is configured with: lists its images under their names there
    #[arg(long = "e2e-repo-config", value_name = "FILE", help_heading = SET)]
    pub(crate) repo_config: Option<PathBuf>,
    /// Kubeconfig file of the cluster whose version to use
    #[arg(long, value_name = "FILE", help_heading = SET)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = SET)]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Output options.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesOutput {
    /// Print the result in this format
    #[arg(id = "format", short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

/// Images to copy from their registries.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesOut {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    /// Copy only this platform of multi-platform images; this changes the digest to that of the
    /// platform's manifest
    #[arg(long, value_name = "OS/ARCHITECTURE")]
    pub(crate) platform: Option<Platform>,
    /// Print what would be copied, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How to copy images from a layout to a registry.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesIn {
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Print what would be copied, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `plumbline images list`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesListArgs {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
}

/// `plumbline images copy`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesCopyArgs {
    /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
    #[arg(long, value_name = "PREFIX")]
    pub(crate) to: Prefix,
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
}

/// `plumbline images save`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesSaveArgs {
    /// Target: an archive if the name ends in `.tar`, otherwise a directory, which is created, or
    /// extended if it is an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    /// Print the result in this format
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

/// `plumbline images load`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesLoadArgs {
    /// An OCI layout: a directory, or a tar of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
    #[arg(long, value_name = "PREFIX")]
    pub(crate) to: Prefix,
    #[command(flatten)]
    pub(crate) how: ImagesIn,
}

/// `plumbline images pull`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesPullArgs {
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
}

/// `plumbline images push`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesPushArgs {
    /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
    #[arg(long = "custom-registry", visible_alias = "to", value_name = "PREFIX")]
    pub(crate) to: Prefix,
    #[command(flatten)]
    pub(crate) how: ImagesIn,
}

/// `plumbline images check`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesCheckArgs {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    /// Where to look for the images, as for `run --registry` [default: the registry of each image]
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) prefix: Option<Prefix>,
    /// Compare with the images of this OCI layout: a directory, or a tar
    #[arg(long, value_name = "FILE.tar|DIR", conflicts_with_all = ["images", "plugins", "kubernetes_version", "suite_list"])]
    pub(crate) from: Option<PathBuf>,
    /// Report only missing images; contact no other registry
    #[arg(long, conflicts_with = "from", requires = "prefix")]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
}

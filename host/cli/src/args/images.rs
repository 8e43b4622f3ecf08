//! `plumbline images`

use std::path::PathBuf;

use clap::Subcommand;
use plumbline_conformance::images::Prefix;
use plumbline_registry::Platform;

use super::{DataFormat, RegistryArgs};

/// Under which heading options stand that say which images are meant.
const SET: &str = "Which images";

/// List, move and check the images that a run needs.
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesArgs {
    #[command(subcommand)]
    pub(crate) command: ImagesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// List the images that a run needs, and what needs each
    List(ImagesListArgs),
    /// Copy the images from their registries into another one
    Copy(ImagesCopyArgs),
    /// Copy the images into an OCI layout on disk: a directory, or one tar to carry
    Save(ImagesSaveArgs),
    /// Copy the images of an OCI layout into a registry
    Load(ImagesLoadArgs),
    /// Copy the images into the user's own layout, from where `push` takes them
    Pull(ImagesPullArgs),
    /// Copy the images that `pull` has brought into a registry
    Push(ImagesPushArgs),
    /// Say which images are missing in a registry, or are others there
    // Sonobuoy looks with `inspect` whether images are there.
    #[command(alias = "inspect")]
    Check(ImagesCheckArgs),
}

/// Which images are meant: those of a run, unless some are named.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImageSetArgs {
    /// These images, in place of those of a run
    #[arg(value_name = "IMAGE", conflicts_with_all = ["plugins", "kubernetes_version", "conformance_image", "own_image", "suite_list", "repo_config"])]
    pub(crate) images: Vec<String>,
    /// A plugin of the run, named as `run -p` takes it; repeatable. Without any: `e2e` and `systemd-logs`
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL", help_heading = SET)]
    pub(crate) plugins: Vec<String>,
    /// The version whose suite is meant, such as `v1.30.2`; `auto`: that of the cluster; `latest`: that of the latest build
    #[arg(long, value_name = "VERSION", help_heading = SET)]
    pub(crate) kubernetes_version: Option<String>,
    /// The image of the suite, in place of `registry.k8s.io/conformance` of the version
    #[arg(long = "kube-conformance-image", value_name = "IMAGE", help_heading = SET)]
    pub(crate) conformance_image: Option<String>,
    /// The image of aggregator and workers
    #[arg(long = "sonobuoy-image", visible_alias = "image", value_name = "IMAGE", help_heading = SET)]
    pub(crate) own_image: Option<String>,
    /// The images of the suite, one per line (`-`: standard input), in place of asking the program in the suite's image for them
    #[arg(long = "list", value_name = "FILE", help_heading = SET)]
    pub(crate) suite_list: Option<PathBuf>,
    /// The file of registries that the suite gets: its images are then listed by the names that they have there
    #[arg(long = "e2e-repo-config", value_name = "FILE", help_heading = SET)]
    pub(crate) repo_config: Option<PathBuf>,
    /// The kubeconfig file of the cluster whose version is meant
    #[arg(long, value_name = "FILE", help_heading = SET)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = SET)]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// What is printed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesOutput {
    /// How it is printed
    #[arg(id = "format", short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

/// Images that are copied out of their registries, and how.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesOut {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    /// Of images for several platforms, only that for this one; their digest is then the one of its manifest
    #[arg(long, value_name = "OS/ARCHITECTURE")]
    pub(crate) platform: Option<Platform>,
    /// Say what would be copied, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How images of a layout are copied into a registry.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesIn {
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Say what would be copied, and stop
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
    /// Where to: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
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
    /// Where to: an archive if the name ends in `.tar`, else a directory, which is made, or extended if it holds an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    /// How it is printed what was done
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

/// `plumbline images load`
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesLoadArgs {
    /// An OCI layout: a directory, or an archive of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Where to: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
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
    /// Where to: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
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
    /// Where they should be: what `--registry` of `run` names. Without it, each in its own registry
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) prefix: Option<Prefix>,
    /// Look for the images of this OCI layout, and compare with them: a directory, or an archive
    #[arg(long, value_name = "FILE.tar|DIR", conflicts_with_all = ["images", "plugins", "kubernetes_version", "suite_list"])]
    pub(crate) from: Option<PathBuf>,
    /// Ask no other registry: tell only which are missing
    #[arg(long, conflicts_with = "from", requires = "prefix")]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) output: ImagesOutput,
}

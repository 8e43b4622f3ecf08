//! Arguments of the commands that pass plugins on: `pack`, `push`, `pull`, `save`, `load`, `bake`, `lock`.

use std::path::PathBuf;

use plumbline_registry::{ImageName, Platform};

use crate::args::RegistryArgs;

/// `plumbline plugin pack`
#[derive(Debug, clap::Args)]
pub(crate) struct PackArgs {
    /// Directory of the plugin, with `plugin.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Write the tar to this file, or to standard output with `-` [default: NAME.bundle.tar]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print digest, size and files as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `plumbline plugin push`
#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// Directory of a plugin, a packed bundle, or a single WebAssembly file
    #[arg(value_name = "DIR|TAR|FILE.wasm")]
    pub(crate) what: PathBuf,
    /// Target: `oci://HOST[:PORT]/NAME[:TAG]`; without TAG, `latest`
    #[arg(value_name = "OCI")]
    pub(crate) to: String,
    /// Add this annotation to the manifest, such as `org.opencontainers.image.version=1.2`;
    /// repeatable
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    pub(crate) annotations: Vec<(String, String)>,
    /// Print digests and size as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

fn annotation(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// `plumbline plugin pull`
#[derive(Debug, clap::Args)]
pub(crate) struct PullArgs {
    /// Source: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(value_name = "OCI")]
    pub(crate) reference: String,
    /// Target: a file if the name ends in `.tar`, otherwise a new directory to unpack into
    /// [default: NAME.bundle.tar, or NAME.wasm for a single WebAssembly file]
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print digests and size as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin save`
#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    /// Source: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(required = true, value_name = "OCI")]
    pub(crate) references: Vec<String>,
    /// Target: an archive if the name ends in `.tar`, otherwise a directory, which is created, or
    /// extended if it is an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin load`
#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// An OCI layout: a directory, or a tar of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Copy to a registry: `oci://HOST[:PORT]/NAME[:TAG]` for a layout with one bundle, or
    /// `oci://HOST[:PORT]/[PREFIX/]`, ending in `/`, for all bundles under their own names
    #[arg(long, value_name = "OCI", conflicts_with = "install")]
    pub(crate) to: Option<String>,
    /// Install the bundles, so that commands find them by name
    #[arg(long)]
    pub(crate) install: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin bake`
#[derive(Debug, clap::Args)]
pub(crate) struct BakeArgs {
    /// Bundles to add: directories, packed bundles, `oci://…`, or names of installed bundles
    #[arg(value_name = "REF", required = true)]
    pub(crate) references: Vec<String>,
    /// Base image: an image in a registry, or an OCI layout (a directory, or a tar of one)
    #[arg(long, value_name = "IMAGE|OCI-ARCHIVE")]
    pub(crate) base: String,
    /// Platform to take from a multi-platform base image, such as `linux/amd64`
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<Platform>,
    /// Write the image to this file, as an OCI archive that nodes and container engines import
    #[arg(short, long, value_name = "FILE.tar", required_unless_present = "push")]
    pub(crate) output: Option<PathBuf>,
    /// Name of the image in the archive
    #[arg(long, value_name = "NAME", default_value = "localhost/plumbline:baked", requires = "output")]
    pub(crate) tag: ImageName,
    /// Push the image to a registry: `oci://HOST[:PORT]/NAME[:TAG]`
    #[arg(long, value_name = "OCI", conflicts_with = "output")]
    pub(crate) push: Option<String>,
    /// Print the digest of the image and its bundles as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin lock`
#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// A plugin, as for `plumbline run --plugin`; repeatable
    #[arg(short, long = "plugin", required = true, value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// Write the lock file to this file, or to standard output with `-`
    #[arg(short, long, default_value = plumbline_bundle::LOCK_FILE, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Lock built-in plugins in their version for `run --local`, not in that for clusters
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

//! Arguments of the commands that pass plugins on: `pack`, `push`, `pull`, `save`, `load`, `bake`, `lock`.

use std::path::PathBuf;

use plumbline_registry::{ImageName, Platform};

use crate::args::RegistryArgs;

/// `plumbline plugin pack`
#[derive(Debug, clap::Args)]
pub(crate) struct PackArgs {
    /// The plugin's directory, with `plugin.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The tar to write, `-` for standard output; without it, `NAME.bundle.tar` in the current directory
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print digest, size and files as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `plumbline plugin push`
#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// A plugin's directory, a packed bundle, or a single WebAssembly file
    #[arg(value_name = "DIR|TAR|FILE.wasm")]
    pub(crate) what: PathBuf,
    /// Where to: `oci://HOST[:PORT]/NAME[:TAG]`; `latest` without a tag
    #[arg(value_name = "OCI")]
    pub(crate) to: String,
    /// A remark that is kept with it, such as `org.opencontainers.image.version=1.2`; repeatable
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
    /// What: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(value_name = "OCI")]
    pub(crate) reference: String,
    /// Where to: a file that ends in `.tar` is the packed bundle, any other name a new directory into which it is unpacked; without it, `NAME.bundle.tar`, or `NAME.wasm` for a single WebAssembly file
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
    /// What: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(required = true, value_name = "OCI")]
    pub(crate) references: Vec<String>,
    /// Where to: an archive if the name ends in `.tar`, else a directory, which is made, or extended if it holds an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin load`
#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// An OCI layout: a directory, or an archive of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Copy into a registry: `oci://HOST[:PORT]/NAME[:TAG]` for the only one that is there, or `oci://HOST[:PORT]/[PREFIX/]`, with a `/` at the end, for all, under the names that they have
    #[arg(long, value_name = "OCI", conflicts_with = "install")]
    pub(crate) to: Option<String>,
    /// Install the bundles, so that they are found by their name
    #[arg(long)]
    pub(crate) install: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin bake`
#[derive(Debug, clap::Args)]
pub(crate) struct BakeArgs {
    /// Plugins that are bundles: directories, packed bundles, `oci://…`, names of installed ones
    #[arg(value_name = "REF", required = true)]
    pub(crate) references: Vec<String>,
    /// The image that they are put into: an image in a registry, or one as an OCI layout (a directory, or a tar of one)
    #[arg(long, value_name = "IMAGE|OCI-ARCHIVE")]
    pub(crate) base: String,
    /// Of a base for several platforms, the one for this: `OS/ARCHITECTURE`, such as `linux/amd64`
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<Platform>,
    /// Write the image as an OCI archive, which nodes and engines import
    #[arg(short, long, value_name = "FILE.tar", required_unless_present = "push")]
    pub(crate) output: Option<PathBuf>,
    /// What the image is called in the archive
    #[arg(long, value_name = "NAME", default_value = "localhost/plumbline:baked", requires = "output")]
    pub(crate) tag: ImageName,
    /// Push the image to a registry: `oci://HOST[:PORT]/NAME[:TAG]`
    #[arg(long, value_name = "OCI", conflicts_with = "output")]
    pub(crate) push: Option<String>,
    /// Print the image's digest and its bundles as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin lock`
#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// A plugin, as `plumbline run --plugin` takes it; repeatable
    #[arg(short, long = "plugin", required = true, value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// The lock file to write, `-` for standard output
    #[arg(short, long, default_value = plumbline_bundle::LOCK_FILE, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Take built-in plugins as `run --local` takes them, and not as a cluster does
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

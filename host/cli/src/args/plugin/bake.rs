//! `plumbline plugin bake`

use std::path::PathBuf;

use plumbline_registry::{ImageName, Platform};

use crate::args::RegistryArgs;

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

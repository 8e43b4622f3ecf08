//! Arguments of the commands on signatures: `sign`, `verify`, `keygen`.

use std::path::PathBuf;

use super::DataFormat;
use crate::args::{PolicyArg, RegistryArgs};

/// `plumbline plugin sign`
#[derive(Debug, clap::Args)]
pub(crate) struct SignArgs {
    /// A packed bundle (`NAME.bundle.tar`), the name of an installed bundle, or `oci://…`
    #[arg(value_name = "TAR|NAME|oci://…")]
    pub(crate) bundle: String,
    /// Private key file from `plugin keygen`; without it, `PLUMBLINE_SIGNING_KEY`, which holds a
    /// PEM key or the name of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Version of the release, for information
    #[arg(long, value_name = "VERSION")]
    pub(crate) release: Option<String>,
    /// URL of the source of the bundle, for information
    #[arg(long, value_name = "URL")]
    pub(crate) source: Option<String>,
    /// Write the signature to this file; without it, next to the tar (`NAME.bundle.tar.dsse.json`),
    /// with the installed bundle, or to the manifest in the registry
    #[arg(long, value_name = "FILE")]
    pub(crate) signatures: Option<PathBuf>,
    /// Print the result in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin verify`
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// A packed bundle (`NAME.bundle.tar`), the name of an installed bundle, or `oci://…`
    #[arg(value_name = "TAR|NAME|oci://…")]
    pub(crate) bundle: String,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// Trust this public key for every name, instead of a policy
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub(crate) key: Option<PathBuf>,
    /// Read the signatures from this file; without it, from next to the tar
    /// (`NAME.bundle.tar.dsse.json`), from the installed bundle, or from the manifest in the
    /// registry
    #[arg(long, value_name = "FILE")]
    pub(crate) signatures: Option<PathBuf>,
    /// Print the result in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin keygen`
#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// Name of the files: `NAME.key` (keep it secret) and `NAME.pub` (give it to those who verify)
    #[arg(long, value_name = "NAME")]
    pub(crate) out: PathBuf,
    /// Overwrite existing keys: what they signed stays valid, but you can sign nothing more with
    /// them
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

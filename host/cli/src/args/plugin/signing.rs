//! Arguments of the commands on signatures: `sign`, `verify`, `keygen`.

use std::path::PathBuf;

use super::DataFormat;
use crate::args::{PolicyArg, RegistryArgs};

/// `plumbline plugin sign`
#[derive(Debug, clap::Args)]
pub(crate) struct SignArgs {
    /// A packed bundle (`NAME.bundle.tar`), the name of an installed one, or one in a registry (`oci://…`)
    #[arg(value_name = "TAR|NAME|oci://…")]
    pub(crate) bundle: String,
    /// The private key: a file as `plugin keygen` writes it; without it, what `PLUMBLINE_SIGNING_KEY` holds: the key itself as PEM, or a
    /// file
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The version that is released, for people to see
    #[arg(long, value_name = "VERSION")]
    pub(crate) release: Option<String>,
    /// Where the bundle's source is, for people to see
    #[arg(long, value_name = "URL")]
    pub(crate) source: Option<String>,
    /// Where the signature goes; without it, beside the tar (`NAME.bundle.tar.dsse.json`), to the installed bundle, or to the
    /// manifest in the registry
    #[arg(long, value_name = "FILE")]
    pub(crate) signatures: Option<PathBuf>,
    /// How the result is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin verify`
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// A packed bundle (`NAME.bundle.tar`), the name of an installed one, or one in a registry (`oci://…`)
    #[arg(value_name = "TAR|NAME|oci://…")]
    pub(crate) bundle: String,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// One public key that counts for every name, in place of a policy
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub(crate) key: Option<PathBuf>,
    /// Where the signatures are; without it, beside the tar (`NAME.bundle.tar.dsse.json`), with the installed bundle, or at the
    /// manifest in the registry
    #[arg(long, value_name = "FILE")]
    pub(crate) signatures: Option<PathBuf>,
    /// How the result is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin keygen`
#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// The pair becomes `NAME.key` (keep it secret) and `NAME.pub` (give it to those who verify)
    #[arg(long, value_name = "NAME")]
    pub(crate) out: PathBuf,
    /// Replace keys that are there: what they have signed stays signed, and nothing new can be
    #[arg(long)]
    pub(crate) force: bool,
    /// How the result is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

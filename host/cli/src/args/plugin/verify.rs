//! `plumbline plugin verify`

use std::path::PathBuf;

use super::DataFormat;
use crate::args::{PolicyArg, RegistryArgs};

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

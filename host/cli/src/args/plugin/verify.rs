//! `plumbline plugin verify`

use std::path::PathBuf;

use crate::args::{PolicyArg, RunFormat};

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
    /// Print the result as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

//! `plumbline plugin inspect`

use super::DataFormat;
use crate::args::RegistryArgs;

/// `plumbline plugin inspect`
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// A module (`FILE.wasm`), a plugin's directory, a packed bundle (`NAME.bundle.tar`), the name of an installed bundle,
    /// or a reference `oci://…`
    #[arg(value_name = "MODULE|DIR|BUNDLE|NAME|OCI")]
    pub(crate) what: String,
    /// How it is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

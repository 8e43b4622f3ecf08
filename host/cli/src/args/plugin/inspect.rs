//! `plumbline plugin inspect`

use super::DataFormat;

/// `plumbline plugin inspect`
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// A module (`FILE.wasm`), a plugin's directory, a packed bundle (`NAME.bundle.tar`), or the name of an installed bundle
    #[arg(value_name = "MODULE|DIR|BUNDLE|NAME")]
    pub(crate) what: String,
    /// How it is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

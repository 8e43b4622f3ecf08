//! `plumbline plugin show`

use super::DataFormat;

/// `plumbline plugin show`
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A plugin, as `--plugin` of `run` takes it: a name, a directory, a packed bundle, a definition
    #[arg(value_name = "NAME|DIR|FILE|URL")]
    pub(crate) reference: String,
    /// How it is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

//! `plumbline plugin show`

use super::DataFormat;
use crate::args::RegistryArgs;

/// `plumbline plugin show`
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A plugin, as `plumbline run --plugin` takes it: a name, a directory, a packed bundle, a definition
    #[arg(value_name = "NAME|DIR|FILE|URL")]
    pub(crate) reference: String,
    /// How it is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

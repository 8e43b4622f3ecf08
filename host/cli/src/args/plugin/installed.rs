//! Arguments of the commands on installed plugins: `list`, `show`, `install`, `uninstall`.

use clap::ValueEnum;

use crate::args::RegistryArgs;

/// `plumbline plugin list`
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print the list in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

/// `plumbline plugin show`
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A plugin, as for `plumbline run --plugin`: a name, a directory, a packed bundle, or a
    /// definition
    #[arg(value_name = "NAME|DIR|FILE|URL")]
    pub(crate) reference: String,
    /// Print the plugin in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin install`
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// Directory of a plugin, a packed bundle (`NAME.bundle.tar`), or a reference to a registry
    /// (`oci://…`); replaces an installed bundle of the same name
    #[arg(required = true, value_name = "DIR|FILE|OCI")]
    pub(crate) references: Vec<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `plumbline plugin uninstall`
#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// Names of installed bundles
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print what would be removed, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Output formats with a text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for people
    Text,
    /// One JSON document
    Json,
}

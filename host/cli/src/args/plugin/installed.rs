//! Arguments of the commands on installed plugins: `list`, `show`, `install`, `uninstall`.

use clap::ValueEnum;

use crate::args::RegistryArgs;

/// `plumbline plugin list`
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// How the list is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

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

/// `plumbline plugin install`
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// A plugin's directory, a packed bundle (`NAME.bundle.tar`), or a reference to a registry (`oci://…`); one that is installed under the same name is replaced
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
    /// Say what would be removed, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

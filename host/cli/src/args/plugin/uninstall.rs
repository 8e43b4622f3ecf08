//! `plumbline plugin uninstall`

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

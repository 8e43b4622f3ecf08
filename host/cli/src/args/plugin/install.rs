//! `plumbline plugin install`

/// `plumbline plugin install`
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// A plugin's directory, a packed bundle (`NAME.bundle.tar`), or a reference to a registry (`oci://…`); one that is installed under the same name is replaced
    #[arg(required = true, value_name = "DIR|FILE|OCI")]
    pub(crate) references: Vec<String>,
}

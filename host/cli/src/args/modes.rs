//! `plumbline modes`

/// Print the modes of the suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ModesArgs {
    /// Also what each of them sets
    #[arg(long)]
    pub(crate) verbose: bool,
}

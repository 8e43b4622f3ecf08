//! Where the policy of signatures is.

use std::path::PathBuf;

/// Whose signatures count.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PolicyArg {
    // The variable is read by hand: it is no reason to refuse another option that excludes this one.
    /// Whose signatures count for what (docs/signing.md); without it, the file that `PLUMBLINE_POLICY` names, then
    /// `$XDG_CONFIG_HOME/plumbline/policy.yaml`
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

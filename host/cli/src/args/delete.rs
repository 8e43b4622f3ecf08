//! `plumbline delete`

use clap::ValueEnum;

use super::minutes::Minutes;
use super::{ClusterArgs, WaitOutput};

/// Remove a run from the cluster: what belongs to it, and nothing else.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// Also remove the cluster roles of every other run, and the namespaces that end-to-end tests left behind
    #[arg(long)]
    pub(crate) all: bool,
    /// Whether cluster roles and their bindings are removed
    #[arg(long, value_enum, ignore_case = true, default_value_t = RbacArg::Detect, value_name = "KIND")]
    pub(crate) rbac: RbacArg,
    /// Wait until everything is gone: at most so many minutes, or a duration such as `90s`; an hour if nothing is said
    #[arg(long, value_name = "MIN", num_args = 0..=1, require_equals = true, default_missing_value = "60")]
    pub(crate) wait: Option<Minutes>,
    /// What is shown while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    /// Say what would be removed, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask; without a terminal nothing is ever asked
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Whether cluster roles are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacArg {
    /// Where the cluster has roles
    Detect,
    /// As `detect`
    Enable,
    /// No: they are not looked for
    Disable,
}

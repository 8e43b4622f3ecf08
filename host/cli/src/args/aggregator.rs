//! `plumbline aggregator`

use std::path::PathBuf;

use plumbline_kubernetes::names;

use super::LimitsArg;

/// `plumbline aggregator`
#[derive(Debug, clap::Args)]
pub(crate) struct AggregatorArgs {
    /// Stay after the end, so that the archive can be fetched from this pod
    #[arg(long)]
    pub(crate) no_exit: bool,
    /// Where the run and its archive are kept
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR, hide = true)]
    pub(crate) dir: PathBuf,
    /// Not in a pod: the cluster of this kubeconfig
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Where the image has the bundles that were baked into it
    #[arg(long, value_name = "DIR", default_value = names::BAKED_BUNDLES_DIR, hide = true)]
    pub(crate) baked: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

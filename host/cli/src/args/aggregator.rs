//! `plumbline aggregator`

use std::path::PathBuf;

use plumbline_kubernetes::names;

use super::LimitsArg;

/// `plumbline aggregator`
#[derive(Debug, clap::Args)]
pub(crate) struct AggregatorArgs {
    /// Keep running at the end, so that the archive can be downloaded from this pod
    #[arg(long)]
    pub(crate) no_exit: bool,
    /// Directory of the run and its archive
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR, hide = true)]
    pub(crate) dir: PathBuf,
    /// Outside of a pod: kubeconfig of the cluster
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Directory of the bundles in the image
    #[arg(long, value_name = "DIR", default_value = names::BAKED_BUNDLES_DIR, hide = true)]
    pub(crate) baked: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

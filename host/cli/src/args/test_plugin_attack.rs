//! `plumbline test-plugin attack`

use std::path::PathBuf;

use plumbline_kubernetes::names;

/// Try what a malicious plugin would try, and report each attempt that the cluster or the aggregator allows as a failure.
///
/// Requests to the API server are dry runs: an attempt that is allowed changes nothing.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AttackArgs {
    /// The plugin to send results for
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) victim: String,
    /// The namespace of the run; without it the one that the pod's DNS configuration names
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Also look into other processes of the node until the worker of the victim is among them
    #[arg(long)]
    pub(crate) host_processes: bool,
    /// Stay until told to end, after the results are written
    #[arg(long)]
    pub(crate) stay: bool,
    /// Where worker and plugin meet
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
}

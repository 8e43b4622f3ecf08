//! A plugin that attacks the run and the cluster. Each attempt is a test that passes if it is
//! refused.

mod aggregator;
mod api;
mod attempts;
mod credentials;

use plumbline_dev::Result;
use plumbline_kubernetes::names;
use std::fs;
use std::path::PathBuf;

use crate::plugin::common::until_terminated;
use attempts::Attempts;

/// Try what a malicious plugin would try, and report each attempt that the cluster or the
/// aggregator allows as a failure. Requests to the API server are dry runs: an attempt that is
/// allowed changes nothing.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AttackOptions {
    /// Plugin to send results for
    #[arg(long, value_name = "PLUGIN")]
    victim: String,
    /// Namespace of the run [default: the one in the pod's DNS configuration]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Also search other processes of the node, once the worker of the victim is among them
    #[arg(long)]
    host_processes: bool,
    /// Stay until SIGTERM after the results are written
    #[arg(long)]
    stay: bool,
    /// Directory that worker and plugin share
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    results_dir: PathBuf,
}

/// The path of the DNS configuration of a pod.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Attacks the run and the cluster, and writes a report.
pub(crate) fn attack(options: &AttackOptions) -> Result<u8> {
    let work = async {
        make_attempts(options).await?;
        Ok(if options.stay { None } else { Some(0) })
    };
    until_terminated(work, 0)
}

async fn make_attempts(options: &AttackOptions) -> Result<()> {
    // Fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let namespace = match &options.namespace {
        Some(namespace) => namespace.clone(),
        None => own_namespace()?,
    };
    let mut attempts = Attempts::default();
    let found = credentials::search(&options.victim, options.host_processes, &mut attempts).await;
    api::attack(&namespace, &found.tokens, &mut attempts).await;
    aggregator::attack(&options.victim, &namespace, &found.certificates, &mut attempts).await;
    attempts.write(&options.results_dir)
}

/// Returns the namespace of this pod: the first search domain is `NAMESPACE.svc.DOMAIN`.
fn own_namespace() -> Result<String> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let domain = text.lines().find_map(|line| line.strip_prefix("search ")?.split_whitespace().next());
    let namespace = domain.and_then(|domain| domain.split_once(".svc.")).map(|(namespace, _)| namespace.to_owned());
    Ok(namespace.ok_or("the namespace of the run is not known\nhint:  give it with `--namespace`")?)
}

//! `plumbline worker`: the roles of the program next to plugins.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::runtime::{conceal, one_thread};
use plumbline_kubernetes::names::WORKER_SLEEP_VARIABLE;
use plumbline_kubernetes::{Cluster, ConnectOptions, companions_ended};
use plumbline_worker::{Mode, WorkerConfig, chain, run_worker_process};

use crate::args::global::{Global, Level};
use crate::commands::node::{FactsRoleArgs, InRootArgs, NodeLogsArgs};
use crate::error::PrintError as _;
use crate::logging;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Run next to a plugin that runs once per cluster
    Global(RoleArgs),
    /// Run next to a plugin that runs once per node
    SingleNode(RoleArgs),
    /// Print facts of this machine as JSON
    Facts(FactsRoleArgs),
    /// Print the logs of this machine's journal as lines of JSON
    NodeLogs(NodeLogsArgs),
    /// Run a program in another root directory
    #[command(hide = true)]
    InRoot(InRootArgs),
}

/// `plumbline worker global` and `plumbline worker single-node`
#[derive(Debug, clap::Args)]
pub(crate) struct RoleArgs {
    /// Configuration as JSON; the environment overrides it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// IP address that accepts progress updates of the plugin [default: loopback]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) progress_bind: Option<IpAddr>,
    /// Outside of a pod: kubeconfig of the cluster
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Seconds to keep running after the upload, so that the pod does not restart; negative:
    /// forever
    #[arg(long, env = WORKER_SLEEP_VARIABLE, hide_env = true, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) sleep: i64,
}

/// Environment variables that identify this worker's pod and container.
const NAMESPACE: &str = "SONOBUOY_NS";
const POD: &str = "SONOBUOY_PLUGIN_POD";
const CONTAINER: &str = "SONOBUOY_WORKER_CONTAINER";

/// Where a pod has the token of its service account.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Runs the worker next to a plugin that runs once per cluster, or once per node.
pub(crate) fn work(mode: Mode, args: &RoleArgs, global: &Global) -> Result<ExitCode, AppError> {
    // A worker's log is read after a failure, when the pod may be gone. It therefore logs at `info`
    // by default.
    logging::init(&global.logging_at(Level::Info));
    conceal();
    let mut config = match WorkerConfig::load(mode, args.config.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            // Printed as every command prints it, but with the only code that workers fail with.
            AppError::usage("invalid configuration of the worker").because(&error).print();
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Some(address) = args.progress_bind {
        config.progress_bind = vec![address];
    }
    // One thread is enough: a worker waits for hours next to each pod of every plugin.
    let runtime = one_thread()?;
    let work = async { run_worker_process(config, mode, companions(args.kubeconfig.clone())).await };
    match runtime.block_on(Box::pin(work)) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            tracing::error!("{}", chain(&error));
            // Sonobuoy's workers exit with 1, and manifests rely on no other code.
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Returns a future that completes when the other containers have finished successfully, if the pod
/// may query itself (docs/protocol.md, «Without a done file»).
fn companions(kubeconfig: Option<PathBuf>) -> Option<impl Future<Output = ()> + Send + 'static> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (namespace, pod, container) = (set(NAMESPACE)?, set(POD)?, set(CONTAINER)?);
    // Outside of pods, and in pods without a token, that is normal.
    if kubeconfig.is_none() {
        set("KUBERNETES_SERVICE_HOST")?;
        if !Path::new(TOKEN).exists() {
            tracing::info!(
                "this pod has no service account token, so the worker cannot watch the plugin. \
                 If it exits without a done file, the result times out"
            );
            return None;
        }
    }
    Some(async move {
        let cluster = match kubeconfig {
            Some(path) => Cluster::connect(&ConnectOptions { kubeconfig: Some(path), context: None }).await,
            None => Cluster::in_pod(),
        };
        match cluster {
            Ok(cluster) => companions_ended(cluster, namespace, pod, container).await,
            Err(error) => {
                tracing::info!("{error}: this worker will not notice a plugin that ends without a done file");
                std::future::pending().await
            }
        }
    })
}

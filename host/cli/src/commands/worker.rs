//! `plumbline worker`

use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::conceal::conceal;
use plumbline_app::runtime::one_thread;
use plumbline_kubernetes::{Cluster, ConnectOptions, companions_ended};
use plumbline_worker::{Mode, WorkerConfig, chain, run_worker_process};

use crate::args::{Global, Level, RoleArgs, SleepArgs};
use crate::error::PrintError as _;
use crate::logging;

/// Environment variables that identify this worker's pod and container.
const NAMESPACE: &str = "SONOBUOY_NS";
const POD: &str = "SONOBUOY_PLUGIN_POD";
const CONTAINER: &str = "SONOBUOY_WORKER_CONTAINER";

/// Runs the worker next to a plugin that runs once per cluster.
pub(crate) fn global(args: &SleepArgs, global: &Global) -> Result<ExitCode, AppError> {
    work(Mode::Global { sleep: args.sleep }, &args.role, global)
}

/// Runs the worker next to a plugin that runs once per node.
pub(crate) fn single_node(args: &SleepArgs, global: &Global) -> Result<ExitCode, AppError> {
    work(Mode::SingleNode { sleep: args.sleep }, &args.role, global)
}

fn work(mode: Mode, args: &RoleArgs, global: &Global) -> Result<ExitCode, AppError> {
    // A worker's log is read after a failure, when the pod may be gone. It therefore logs at `info`
    // by default.
    let level = if global.level == Level::Warn { Level::Info } else { global.level };
    logging::init(&Global { level, ..global.clone() });
    conceal();
    let mut config = match WorkerConfig::load(mode, args.config.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            // Printed as every command prints it, but with the only code that workers fail with.
            AppError::usage("the worker's configuration cannot be used").because(&error).print();
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
    // Without these variables, the process is not in a pod with a service account. That is normal.
    if kubeconfig.is_none() {
        set("KUBERNETES_SERVICE_HOST")?;
    }
    Some(async move {
        let cluster = match kubeconfig {
            Some(path) => Cluster::connect(&ConnectOptions { kubeconfig: Some(path), context: None }).await,
            None => Cluster::in_pod(),
        };
        match cluster {
            Ok(cluster) => companions_ended(cluster, namespace, pod, container).await,
            Err(error) => {
                tracing::info!("{error}: a plugin that ends without a done file will not be noticed here");
                std::future::pending().await
            }
        }
    })
}

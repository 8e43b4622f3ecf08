//! The aggregator of a run in a cluster: it dispatches plugins, collects their results, and makes
//! the archive.

mod bundles;
mod delay;
mod finish;
mod inputs;
mod scheduled;
mod start;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bundles::BundleDirs;
use delay::StartWait;
use finish::{FailedRun, publish_end, update_record, upload};
use plumbline_aggregator::{Finished, OnArchived, Run, RunError, Settings, Source, WorkDir};
use plumbline_core::config::Config;
use plumbline_core::{RunFailure, RunId, RunStatus, Verdict};
use plumbline_kubernetes::manifest::rbac::{EVENTS, Queries};
use plumbline_kubernetes::monitor::MonitorOptions;
use plumbline_kubernetes::status::{PublishOptions, publish, publish_delay, publish_preparing};
use plumbline_kubernetes::{CaSecretStore, Cluster, ConnectOptions, KubernetesDispatcher, RunEvents, inside};
use plumbline_telemetry::{BoundAddress, Endpoint};
use scheduled::{Directories, Scheduled, is_undelivered};
use serde_json::Value;
use start::{
    NETWORK_PATIENCE, Pod, StartError, aliases, as_map, find_plugins, graces, info, listen, open_work_dir, provenance,
    read_config, seconds, survey, unpack_modules_of_run, var,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::AppError;
use crate::modules::{self, Limits};
use crate::runtime::{Termination, conceal};
use crate::telemetry::{self, Reporting};

pub use start::{AggregatorOptions, StartLog};

/// The fetched bundles, in the run's working directory, and removed with it.
const BUNDLES: &str = "bundles";
/// How long workers may take to send partial results after a timeout: one and a half heartbeats.
const COLLECT: Duration = Duration::from_secs(45);

/// How an aggregator ended.
#[derive(Debug)]
pub enum AggregatorEnd {
    /// The run has finished, and its status says how.
    Finished,
    /// A scheduled run has finished with this verdict. The exit code of its Job shows it.
    Judged(Verdict),
    /// The run failed. Its status and the reporter have the failure, and the pod stayed until it
    /// was asked to stop.
    Failed,
    /// The run continues in the next container or pod: this process was asked to stop, or the
    /// cluster did not answer for a long time.
    Left,
}

/// Runs the aggregator of a cluster from the configuration in its pod to the archive.
pub async fn aggregate(
    context: &Context,
    options: &AggregatorOptions,
    start_log: StartLog<'_>,
) -> Result<AggregatorEnd, AppError> {
    conceal();
    // Two events end the run early: a signal to this process, and a failure of a run that fails
    // fast. After the latter, the archive can be downloaded, as at any other end.
    let stopped = CancellationToken::new();
    let signals = tokio::spawn(cancel_on_signal(stopped.clone()));
    let config = match read_config() {
        Ok(config) => config,
        Err(error) => return Err(Box::pin(report_start_error(options, &Config::default(), error, &stopped)).await),
    };
    // Metrics are served until this process ends.
    let mut metrics = None;
    let end = match Box::pin(in_container(context, options, &config, start_log, &stopped, &mut metrics)).await {
        Ok(end) => end,
        Err(StartError { error, .. }) if error.is_temporary() && delay::is_followed(&config) => {
            return delay::leave(&config, error).map(|()| AggregatorEnd::Left);
        }
        Err(StartError { error, published: true }) => return Err(error),
        Err(StartError { error, published: false }) => {
            return Err(Box::pin(report_start_error(options, &config, error, &stopped)).await);
        }
    };
    if options.no_exit && !matches!(end, AggregatorEnd::Left) {
        tracing::info!("the run has finished; this pod keeps running so that its archive can be downloaded");
        stopped.cancelled().await;
    }
    drop(metrics);
    signals.abort();
    Ok(end)
}

/// Starts the run, continues it, or finds that it was finished before this container was started.
/// `metrics` gets the endpoint that serves them.
async fn in_container(
    context: &Context,
    options: &AggregatorOptions,
    config: &Config,
    start_log: StartLog<'_>,
    stopped: &CancellationToken,
    metrics: &mut Option<Endpoint>,
) -> Result<AggregatorEnd, StartError> {
    // On a volume that outlives this pod, the run continues in the next one. So its journal must not
    // record an interruption.
    let continues = delay::has_volume(config);
    let cancel = if continues { CancellationToken::new() } else { stopped.child_token() };
    let scheduled = Scheduled::of(config)?;
    let places = Directories::of(&options.dir, scheduled.as_ref());
    // The pods of a Job continue its run, whatever is applied meanwhile.
    let inputs = if scheduled.is_none() { Some(inputs::digest(config)?) } else { None };
    let (work, id) = open_work_dir(&places.home, config, inputs, start_log)?;
    let cluster = connect(options).await.map_err(StartError::published)?;
    if let Some(status) = finish::recorded(&places.home) {
        tracing::info!("the run had finished before this container restarted");
        let status = upload(config, &places, status).await;
        // The working directory, which had the ID, was removed at the end of the run.
        let id = finish::id_of(&status).unwrap_or(id);
        publish_again(&cluster, config, id, &status).await;
        return Ok(finished(context, scheduled.as_ref(), &places, &status));
    }
    let wait = StartWait::start();
    let pod = delay::unless_stopped(stopped, Pod::find(&cluster, config, wait.left())).await?;
    let publishing = finish::publishing(&cluster, &pod, id);
    let about = match &scheduled {
        Some(scheduled) => Some(delay::unless_stopped(stopped, scheduled.enter(&cluster, &pod, &places, wait)).await?),
        None => None,
    };
    let given = RunStart { id, pod: &pod, places: &places, about, wait };
    let run = Box::pin(run(options, config, given, work, &publishing, &cancel));
    let ended = tokio::select! {
        ended = run => ended,
        () = stopped.cancelled(), if continues => return Ok(AggregatorEnd::Left),
    };
    match ended {
        Ok((status, endpoint)) => {
            *metrics = endpoint;
            Ok(finished(context, scheduled.as_ref(), &places, &status))
        }
        Err(failed) if failed.error.is_temporary() => Err(failed.error.into()),
        Err(failed) => fail(context, options, &publishing, failed).await.map_err(StartError::published),
    }
}

/// Publishes the end of a run that had finished before. It is over whether or not the cluster
/// answers.
async fn publish_again(cluster: &Cluster, config: &Config, id: RunId, status: &RunStatus) {
    let pod = Pod::find(cluster, config, NETWORK_PATIENCE).await.unwrap_or_else(|error| {
        tracing::warn!("{error}");
        Pod::named(config)
    });
    publish_end(&finish::publishing(cluster, &pod, id), status).await;
}

/// What a run starts with, in addition to its configuration.
struct RunStart<'a> {
    id: RunId,
    pod: &'a Pod,
    places: &'a Directories,
    /// What the archive says about the schedule of the run.
    about: Option<Value>,
    /// How long its start may still wait.
    wait: StartWait,
}

/// The end of a run. After a scheduled one, archives of earlier runs are removed.
fn finished(
    context: &Context,
    scheduled: Option<&Scheduled>,
    places: &Directories,
    status: &RunStatus,
) -> AggregatorEnd {
    let Some(scheduled) = scheduled else { return AggregatorEnd::Finished };
    scheduled.prune(context, places, status);
    // Without its archive, a run that passed proves nothing.
    AggregatorEnd::Judged(if is_undelivered(status) { Verdict::SystemFailure } else { Verdict::from_run(status) })
}

/// Publishes the failure of the run, and returns it as the error of this process. With `--no-exit`,
/// reports it instead, because the pod stays.
async fn fail(
    context: &Context,
    options: &AggregatorOptions,
    publishing: &PublishOptions,
    failed: FailedRun,
) -> Result<AggregatorEnd, AppError> {
    tracing::error!("{}", failed.error);
    publish_end(publishing, &failed.status()).await;
    if let Some(events) = RunEvents::new(publishing) {
        events.end(&failed.status()).await;
    }
    if !options.no_exit {
        return Err(failed.error);
    }
    context.reporter.error(&failed.error);
    Ok(AggregatorEnd::Failed)
}

/// Publishes the error in the status of the run, if the cluster can be reached before this process
/// is asked to stop. Returns the error. The next container tries again.
async fn report_start_error(
    options: &AggregatorOptions,
    config: &Config,
    error: AppError,
    stopped: &CancellationToken,
) -> AppError {
    let publish = async {
        let Ok(cluster) = connect(options).await else { return };
        let pod = Pod::named(config);
        let run = config.uuid.parse().unwrap_or_else(|_| RunId::random());
        publish_end(&finish::publishing(&cluster, &pod, run), &FailedRun::from(error.clone()).status()).await;
    };
    Box::pin(stopped.run_until_cancelled(publish)).await;
    error
}

fn settings(
    config: &Config,
    given: &RunStart<'_>,
    cluster: &Cluster,
    limits: &Limits,
    survey_only: bool,
) -> Result<Settings, AppError> {
    let RunStart { id, pod, places, .. } = *given;
    let host_name = var("HOSTNAME").unwrap_or_else(|| pod.name.clone());
    let pod_ip = var("SONOBUOY_ADVERTISE_IP");
    Ok(Settings {
        listen: listen(config, pod_ip.as_deref())?,
        advertise: Some(config.server.advertised(pod_ip.as_deref(), &host_name)),
        aliases: aliases(&pod.namespace),
        vault: Some(Arc::new(CaSecretStore::new(cluster, &pod.namespace, id, pod.owner_reference()))),
        id: Some(id),
        config: as_map(config),
        timeout: seconds(config.server.timeout_seconds),
        deadline: seconds(config.plumbline.deadline_seconds),
        collect: COLLECT,
        survey_only,
        receive: limits.uploads.clone(),
        limits: limits.modules.clone(),
        provenance: provenance(config),
        telemetry: telemetry::in_cluster(&config.plumbline.telemetry),
        output: places.archives.clone(),
        on_archived: Some(on_archived(places.home.clone())),
        ..Settings::default()
    })
}

async fn run(
    options: &AggregatorOptions,
    config: &Config,
    given: RunStart<'_>,
    work: WorkDir,
    publishing: &PublishOptions,
    cancel: &CancellationToken,
) -> Result<(RunStatus, Option<Endpoint>), FailedRun> {
    let cluster = &publishing.cluster;
    let limits = options.limits.load()?;
    let mut sources = find_plugins(config, &unpack_modules_of_run(&given.places.home)?)?;
    let bundles = BundleDirs { fetched: work.root().join(BUNDLES), baked: options.baked.clone() };
    fetch(config, &mut sources, &bundles, (&work, given.wait), publishing, cancel).await?;
    let settings = settings(config, &given, cluster, &limits, sources.is_empty())?;
    let mut info = info(cluster).await;
    info.extend(given.about.map(|about| ("schedule".to_owned(), about)));
    let settings = Settings { info, ..settings };
    let (pod, places) = (given.pod, given.places);
    let stage = pod.stage(cluster, config, given.id, &sources).await;
    let fail_fast = config.plumbline.fail_fast.then(|| cancel.clone());
    let monitor = MonitorOptions {
        cluster: cluster.clone(),
        namespace: stage.namespace.clone(),
        graces: graces(config),
        tree: work.tree(),
        all_warnings: Queries::of(config.resources.as_deref()).records(EVENTS),
        workers: publishing.workers.clone(),
        fail_fast: fail_fast.clone(),
    };
    let survey = survey(cluster.clone(), config, &pod.namespace, work.tree());
    let dispatcher = KubernetesDispatcher::new(stage, monitor, Some(survey));
    let modules = modules::modules(&limits)?;
    let tries_again = delay::tries_again(config, &work);
    let dispatcher = Arc::new(dispatcher);
    let begun = Box::pin(delay::begin(work, sources, settings, &modules, dispatcher, publishing, given.wait));
    let (run, begun) = match delay::unless_stopped(cancel, async { Ok::<_, FailedRun>(begun.await) }).await? {
        Ok(begun) => begun,
        Err(RunError::Finished { archive, status }) => {
            tracing::info!(archive = %archive.display(), "the run had finished before this container restarted");
            return Ok((finish_again(config, places, publishing, *status).await, None));
        }
        Err(error) => {
            let failed = AppError::system("failed to start the run").because(&error).hint_if(error.hint());
            return Err(failed.temporary_if(error.is_temporary() && tries_again).into());
        }
    };
    tracing::info!(run = %run.id(), url = run.url(), ?begun, "the aggregator accepts results");
    let early = check_network(run.url(), fail_fast.as_ref()).await;

    let (ended, endpoint) = observe(config, places, run, early, publishing, cancel).await;
    let (finished, status) = ended?;
    publish_end(publishing, &status).await;
    if let Some(events) = RunEvents::new(publishing) {
        events.end(&status).await;
    }
    tracing::info!(archive = %finished.archive.display(), verdict = ?finished.verdict, "the run is complete");
    Ok((status, endpoint))
}

/// Executes the run, and reports what it does: its status, events, and metrics. Returns its end, and
/// the endpoint of metrics, which still serves the last ones. A scraper may not have seen them yet.
async fn observe(
    config: &Config,
    places: &Directories,
    run: Run,
    early: Option<RunFailure>,
    publishing: &PublishOptions,
    cancel: &CancellationToken,
) -> (Result<(Finished, RunStatus), FailedRun>, Option<Endpoint>) {
    let requests = publishing.cluster.clone();
    let reporting = Reporting::start(&run, bind_metrics(config).await, move || vec![requests.request_family()]);
    let stop = CancellationToken::new();
    let publisher = tokio::spawn(publish(publishing.clone(), run.state(), stop.clone()));
    // Before the run launches anything, so that its first event says whether it is a new one.
    let events = RunEvents::new(publishing).map(|events| tokio::spawn(events.follow(run.state(), stop.clone())));
    let ended = execute(config, places, run, early, cancel).await;
    let endpoint = reporting.finish().await;
    stop.cancel();
    if let Err(error) = publisher.await {
        tracing::error!("the task that publishes the status failed: {error}");
    }
    if let Some(events) = events
        && let Err(error) = events.await
    {
        tracing::error!("the task that creates events failed: {error}");
    }
    (ended, endpoint)
}

/// Binds the port for metrics, if they are requested. The run does not depend on it.
async fn bind_metrics(config: &Config) -> Option<BoundAddress> {
    let port = Some(config.plumbline.telemetry.metrics_port).filter(|port| *port != 0)?;
    let address = listen(config, var("SONOBUOY_ADVERTISE_IP").as_deref()).ok()?;
    let bound = telemetry::bind(SocketAddr::new(address.ip(), port)).await;
    bound.inspect_err(|error| tracing::error!("{error}")).ok()
}

/// Executes the run, and uploads its archive. Returns the last status.
async fn execute(
    config: &Config,
    places: &Directories,
    run: Run,
    early: Option<RunFailure>,
    cancel: &CancellationToken,
) -> Result<(Finished, RunStatus), FailedRun> {
    let state = run.state();
    let mut finished = Box::pin(run.execute(cancel.clone())).await.map_err(|error| {
        let interrupted = AppError::system("the run was interrupted")
            .because(&error)
            .hint("received results are kept: a restarted container continues the run");
        FailedRun { error: interrupted, status: state.status() }
    })?;
    finished.status.failure = early;
    // Recorded before the upload, which may take minutes: a container that is killed meanwhile
    // must not repeat the run.
    update_record(&places.home, &finished.status);
    let status = upload(config, places, finished.status.clone()).await;
    Ok((finished, status))
}

/// Records the end of the run before its working directory is removed, so that a restarted
/// container does not repeat the run.
fn on_archived(dir: PathBuf) -> OnArchived {
    Arc::new(move |archived| finish::record(&dir, archived.status))
}

/// Records and publishes the end of a run that has finished.
async fn finish_again(
    config: &Config,
    places: &Directories,
    publishing: &PublishOptions,
    status: RunStatus,
) -> RunStatus {
    update_record(&places.home, &status);
    let status = upload(config, places, status).await;
    publish_end(publishing, &status).await;
    status
}

/// Fetches the bundles of the configuration. Publishes meanwhile that the run is being prepared, or
/// what delays it, with the last status of a run that continues. An error is temporary if a successor
/// tries again.
async fn fetch(
    config: &Config,
    sources: &mut [Source],
    places: &BundleDirs,
    (work, wait): (&WorkDir, StartWait),
    publishing: &PublishOptions,
    cancel: &CancellationToken,
) -> Result<(), AppError> {
    if config.plumbline.bundles.is_empty() {
        return Ok(());
    }
    let (delays, delay) = watch::channel(None);
    let (is_delayed, never) = (CancellationToken::new(), CancellationToken::new());
    let on_delay = |error: &AppError| {
        delays.send_replace(Some(delay::of_registry(error)));
        is_delayed.cancel();
    };
    let publish = async {
        publish_preparing(publishing, &is_delayed).await;
        publish_delay(publishing, delay::last_status(work), delay, &never).await;
        std::future::pending().await
    };
    let fetched = tokio::select! {
        fetched = Box::pin(bundles::fetch(config, sources, places, wait, on_delay)) => fetched,
        ended = Box::pin(publish) => ended,
        () = cancel.cancelled() => Err(AppError::system("the run was asked to stop while it downloaded bundles")),
    };
    fetched.map_err(|error| {
        let is_left = error.is_temporary() && delay::tries_again(config, work);
        error.temporary_if(is_left)
    })
}

async fn connect(options: &AggregatorOptions) -> Result<Cluster, AppError> {
    let cluster = match &options.kubeconfig {
        Some(path) => Cluster::connect(&ConnectOptions { kubeconfig: Some(path.clone()), context: None }).await,
        None => Cluster::in_pod(),
    };
    Ok(cluster?)
}

/// Checks that names resolve and that workers can reach this pod. Returns the failure of a run that
/// fails fast.
async fn check_network(url: &str, fail_fast: Option<&CancellationToken>) -> Option<RunFailure> {
    let troubles = inside::check(url).await;
    for trouble in &troubles {
        tracing::error!("{trouble}");
    }
    let token = fail_fast.filter(|_| !troubles.is_empty())?;
    tracing::error!("stopping the run, because of `--fail-fast`");
    token.cancel();
    let hint = "`--fail-fast` stopped the run; without it, the run continues";
    Some(RunFailure::new(&troubles.join("\n"), Some(hint)))
}

async fn cancel_on_signal(cancel: CancellationToken) {
    match Termination::catch() {
        Ok(mut termination) => termination.received().await,
        Err(error) => return tracing::warn!("failed to handle signals: {error}"),
    }
    tracing::warn!("asked to stop");
    cancel.cancel();
}

//! From a configuration to an archive.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use plumbline_aggregator::{OnArchived, Run, RunError, Settings, Source, WorkDir};
use plumbline_app::limits::Limits;
use plumbline_app::runtime::runtime;
use plumbline_app::{AppError, modules};
use plumbline_core::config::{Config, Storage};
use plumbline_core::{RunFailure, RunId, RunStatus};
use plumbline_kubernetes::status::{PublishOptions, publish, publish_preparing};
use plumbline_kubernetes::{Cluster, ConnectOptions, KubernetesDispatcher, KubernetesOptions, SecretVault, inside};
use tokio_util::sync::CancellationToken;

use super::beginning::{NotBegun, carried, work};
use super::bundles::{self, Places};
use super::configured::{aliases, as_map, graces, listen, provenance, seconds, survey};
use super::end::{self, Broken, ended_early, tell_end, tell_no_beginning};
use super::ground::{self, Place};
use super::last::{self, keep_last};
use super::plugins;
use super::send::sent;
use crate::args::{AggregatorArgs, Global, Level};
use crate::commands::conceal::conceal;
use crate::error::PrintError as _;

/// Bundles that were fetched, below the run's working directory: they go when it does.
const BUNDLES: &str = "bundles";
/// What a shell shows for a program that SIGTERM has ended: 128 and the number of the signal.
const TERMINATED: u8 = 143;
/// How long workers may take to send what they have once time is up: one and a half heartbeats.
const COLLECT: Duration = Duration::from_secs(45);

/// Runs the aggregator of a cluster.
pub(crate) fn aggregator(args: &AggregatorArgs, global: &Global) -> Result<ExitCode, AppError> {
    // Its log is what is left to read when something went wrong.
    let level = if global.level == Level::Warn { Level::Info } else { global.level };
    let global = Global { level, ..global.clone() };
    let runtime = runtime()?;
    runtime.block_on(Box::pin(live(args, &global)))
}

async fn live(args: &AggregatorArgs, global: &Global) -> Result<ExitCode, AppError> {
    conceal();
    // Two things may end the run before its time: somebody who wants this process to end, and the run itself, if it is to fail fast. After
    // the second one the archive is there to be fetched, as at any other end.
    let told = CancellationToken::new();
    let signals = tokio::spawn(cancel_on_signal(told.clone()));
    let config = match ground::config() {
        Ok(config) => config,
        Err(error) => return Err(not_begun(args, &Config::default(), error, &told).await),
    };
    let cancel = match config.plumbline.storage {
        Storage::Pod => told.child_token(),
        // The end of this process is none of the run, which goes on in the next pod: told of it, it might write down that it was interrupted
        // before it is left.
        Storage::Claim { .. } => CancellationToken::new(),
    };
    let (work, id) = match work(args, &config, global) {
        Ok(begun) => begun,
        Err(NotBegun { error, elsewhere: true }) => return Err(error),
        Err(NotBegun { error, elsewhere: false }) => return Err(not_begun(args, &config, error, &told).await),
    };
    let cluster = connect(args).await?;
    let place = Place::find(&cluster, &config).await;
    let publishing = end::publishing(&cluster, &place, id);

    let code = if let Some(status) = last::load(&args.dir) {
        tracing::info!("the run was finished before this container was started again");
        let status = sent(&config, &args.dir, status).await;
        tell_end(&publishing, &status).await;
        ExitCode::SUCCESS
    } else {
        let run = Box::pin(run(args, &config, id, &place, work, &publishing, &cancel));
        let ended = tokio::select! {
            ended = run => ended,
            // The volume outlives this pod, and the run goes on in the next one: its end must not be written down as an interruption.
            () = left(&config, &told) => return Ok(ExitCode::from(TERMINATED)),
        };
        match ended {
            Ok(code) => code,
            Err(broken) => {
                tracing::error!("{broken}");
                tell_end(&publishing, &broken.status()).await;
                if !args.no_exit {
                    return Err(broken.error);
                }
                let _ = broken.error.print();
                ExitCode::from(crate::error::SYSTEM)
            }
        }
    };
    if args.no_exit {
        tracing::info!("the run is over; this pod stays for its archive to be fetched");
        told.cancelled().await;
    }
    signals.abort();
    Ok(code)
}

/// The same error, once it was told in the status of the run, if there is a way to the cluster at all and time enough.
async fn not_begun(args: &AggregatorArgs, config: &Config, error: AppError, told: &CancellationToken) -> AppError {
    let tell = async {
        if let Ok(cluster) = connect(args).await {
            tell_no_beginning(&cluster, config, &error).await;
        }
    };
    told.run_until_cancelled(tell).await;
    error
}

/// What a run takes from the configuration and from its pod.
fn settings(
    args: &AggregatorArgs,
    config: &Config,
    id: RunId,
    place: &Place,
    cluster: &Cluster,
    limits: &Limits,
    survey_only: bool,
) -> Result<Settings, AppError> {
    let host_name = ground::var("HOSTNAME").unwrap_or_else(|| place.pod.clone());
    let pod_ip = ground::var("SONOBUOY_ADVERTISE_IP");
    Ok(Settings {
        listen: listen(config, pod_ip.as_deref())?,
        advertise: Some(config.server.advertised(pod_ip.as_deref(), &host_name)),
        aliases: aliases(&place.namespace),
        vault: Some(Arc::new(SecretVault::new(cluster, &place.namespace, id, place.owner_reference()))),
        id: Some(id),
        config: as_map(config),
        timeout: seconds(config.server.timeout_seconds),
        deadline: seconds(config.plumbline.deadline_seconds),
        collect: COLLECT,
        survey_only,
        receive: limits.uploads.clone(),
        limits: limits.modules.clone(),
        provenance: provenance(config),
        output: args.dir.clone(),
        on_archived: Some(on_archived(args.dir.clone())),
    })
}

async fn run(
    args: &AggregatorArgs,
    config: &Config,
    id: RunId,
    place: &Place,
    work: WorkDir,
    publishing: &PublishOptions,
    cancel: &CancellationToken,
) -> Result<ExitCode, Broken> {
    let cluster = &publishing.cluster;
    let limits = Limits::load(args.limits.file.as_deref())?;
    let mut sources = plugins::find(config, &carried(&args.dir)?)?;
    let places = Places { fetched: work.root().join(BUNDLES), baked: args.baked.clone() };
    fetch(config, &mut sources, &places, publishing, cancel).await?;
    let settings = settings(args, config, id, place, cluster, &limits, sources.is_empty())?;
    let stage = place.stage(cluster, config, &sources).await;
    let fail_fast = config.plumbline.fail_fast.then(|| cancel.clone());
    let dispatcher = KubernetesDispatcher::new(KubernetesOptions {
        cluster: cluster.clone(),
        stage,
        graces: graces(config),
        tree: work.tree(),
        workers: publishing.workers.clone(),
        fail_fast: fail_fast.clone(),
        survey: Some(survey(cluster.clone(), config, &place.namespace, work.tree())),
    });
    let modules = modules::modules(&limits)?;
    let begun = Box::pin(Run::begin(work, sources, settings, &modules, Arc::new(dispatcher))).await;
    let (run, begun) = match begun {
        Ok(begun) => begun,
        Err(RunError::Finished { archive, status }) => {
            tracing::info!(archive = %archive.display(), "the run was finished before this container was started again");
            finish_again(args, config, publishing, *status).await;
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => {
            let told = AppError::system("failed to start the run").because(&error);
            return Err(error.hint().into_iter().fold(told, AppError::hint).into());
        }
    };
    tracing::info!(run = %run.id(), url = run.url(), ?begun, "the aggregator accepts results");
    let early = look_around(run.url(), fail_fast.as_ref()).await;

    let stop = CancellationToken::new();
    let state = run.state();
    let publisher = tokio::spawn(publish(publishing.clone(), state.clone(), stop.clone()));
    let finished = Box::pin(run.execute(cancel.clone())).await;
    let end = async {
        let mut finished = finished.map_err(|error| {
            let told = AppError::system("the run was interrupted")
                .because(&error)
                .hint("what was received is kept: a restarted container goes on with it");
            Broken::at(state.status(), told)
        })?;
        finished.status.failure = early;
        // Before it is sent away, which may take minutes: a container that is killed meanwhile is not to run all of it again.
        keep_last(&args.dir, &finished.status);
        let status = sent(config, &args.dir, finished.status.clone()).await;
        Ok::<_, Broken>((finished, status))
    };
    let ended = end.await;
    stop.cancel();
    if let Err(error) = publisher.await {
        tracing::error!("the task that tells the status ended: {error}");
    }
    let (finished, status) = ended?;
    tell_end(publishing, &status).await;
    tracing::info!(archive = %finished.archive.display(), verdict = ?finished.verdict, "the run is complete");
    Ok(ExitCode::SUCCESS)
}

/// Records the end of the run before its working directory goes, or a container that is started again would run all of it once more.
fn on_archived(dir: PathBuf) -> OnArchived {
    Arc::new(move |status| last::keep(&dir, status))
}

/// What is left of a run that was finished, but whose end this container does not know.
async fn finish_again(args: &AggregatorArgs, config: &Config, publishing: &PublishOptions, status: RunStatus) {
    keep_last(&args.dir, &status);
    let status = sent(config, &args.dir, status).await;
    tell_end(publishing, &status).await;
}

/// Fetches bundles, if there are any to fetch. Somebody who looks at the run meanwhile sees that it lives.
async fn fetch(
    config: &Config,
    sources: &mut [Source],
    places: &Places,
    publishing: &PublishOptions,
    cancel: &CancellationToken,
) -> Result<(), AppError> {
    if config.plumbline.bundles.is_empty() {
        return Ok(());
    }
    tokio::select! {
        fetched = Box::pin(bundles::fetch(config, sources, places)) => fetched,
        () = beat(publishing) => Ok(()),
        () = cancel.cancelled() => Err(AppError::system("the run was asked to stop while its bundles were fetched")),
    }
}

/// Never over.
async fn beat(publishing: &PublishOptions) {
    publish_preparing(publishing, &CancellationToken::new()).await;
}

/// Over when this process is told to end and the run is to go on elsewhere.
async fn left(config: &Config, told: &CancellationToken) {
    match config.plumbline.storage {
        Storage::Claim { .. } => told.cancelled().await,
        Storage::Pod => std::future::pending().await,
    }
}

async fn connect(args: &AggregatorArgs) -> Result<Cluster, AppError> {
    let cluster = match &args.kubeconfig {
        Some(path) => Cluster::connect(&ConnectOptions { kubeconfig: Some(path.clone()), context: None }).await,
        None => Cluster::in_pod(),
    };
    cluster.map_err(|error| AppError::cluster(&error))
}

/// Before anything long starts: do names resolve, can workers reach this pod. Why the run ends here, if it does.
async fn look_around(url: &str, fail_fast: Option<&CancellationToken>) -> Option<RunFailure> {
    let troubles = inside::check(url).await;
    for trouble in &troubles {
        tracing::error!("{trouble}");
    }
    let (token, early) = (fail_fast?, ended_early(&troubles)?);
    tracing::error!("the run ends here, because it is to fail fast");
    token.cancel();
    Some(early)
}

async fn cancel_on_signal(cancel: CancellationToken) {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(error) => {
            tracing::warn!("signals cannot be followed: {error}");
            return;
        }
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    tracing::warn!("asked to stop");
    cancel.cancel();
}

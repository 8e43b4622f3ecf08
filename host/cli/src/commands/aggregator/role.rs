//! From a configuration to an archive.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use plumbline_aggregator::{Provenance, Run, Settings, Source, WorkDir, WorkDirError};
use plumbline_core::config::{Config, Storage};
use plumbline_core::{PluginName, RunFailure, RunId};
use plumbline_kubernetes::manifest::unpack_modules;
use plumbline_kubernetes::monitor::Graces;
use plumbline_kubernetes::query::{self, QueryOptions};
use plumbline_kubernetes::status::{PublishOptions, publish, publish_preparing};
use plumbline_kubernetes::{
    Cluster, ConnectOptions, KubernetesDispatcher, KubernetesOptions, SecretVault, inside, names,
};
use tokio_util::sync::CancellationToken;

use super::bundles::{self, Places};
use super::end::{self, Broken, ended_early, tell_end, tell_no_beginning};
use super::ground::{self, Place};
use super::send::sent;
use super::{last, plugins};
use crate::args::{AggregatorArgs, Global, Level};
use crate::error::CliError;
use crate::limits::Limits;
use crate::{logging, stock};

/// The working directory of the run, below the aggregator's directory.
const WORK: &str = ".plumbline-run-aggregator";
/// Bundles that were fetched, below the run's working directory: they go when it does.
const BUNDLES: &str = "bundles";
/// Modules of bundles that came in ConfigMaps, below the aggregator's directory.
const MODULES: &str = ".plumbline-modules";
/// What a shell shows for a program that SIGTERM has ended: 128 and the number of the signal.
const TERMINATED: u8 = 143;
/// How long workers may take to send what they have once time is up: one and a half heartbeats.
const COLLECT: Duration = Duration::from_secs(45);

/// Runs the aggregator of a cluster.
pub(crate) fn aggregator(args: &AggregatorArgs, global: &Global) -> Result<ExitCode, CliError> {
    // Its log is what is left to read when something went wrong.
    let level = if global.level == Level::Warn { Level::Info } else { global.level };
    let global = Global { level, ..global.clone() };
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| CliError::system("the threads of the aggregator cannot be started").because(&error))?;
    runtime.block_on(Box::pin(live(args, &global)))
}

async fn live(args: &AggregatorArgs, global: &Global) -> Result<ExitCode, CliError> {
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
                let _ = broken.error.report();
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

/// Why a run cannot begin in this container.
struct NotBegun {
    error: CliError,
    /// Another container is at work on it, and tells how it goes.
    elsewhere: bool,
}

impl From<CliError> for NotBegun {
    fn from(error: CliError) -> Self {
        Self { error, elsewhere: false }
    }
}

/// The directory of the run, with its log; and the run's id.
fn work(args: &AggregatorArgs, config: &Config, global: &Global) -> Result<(WorkDir, RunId), NotBegun> {
    std::fs::create_dir_all(&args.dir).map_err(|error| {
        CliError::system(format!("the directory `{}` cannot be made", args.dir.display())).because(&error)
    })?;
    let work = WorkDir::open(args.dir.join(WORK)).map_err(|cause| NotBegun {
        error: CliError::system("the run's working directory cannot be used").because(&cause),
        elsewhere: matches!(cause, WorkDirError::Locked(_)),
    })?;
    logging::init_run(global, &work.tree().join("meta/run.log"))?;
    let id = run_id(config, &work)?;
    Ok((work, id))
}

/// The same error, once it was told in the status of the run, if there is a way to the cluster at all and time enough.
async fn not_begun(args: &AggregatorArgs, config: &Config, error: CliError, told: &CancellationToken) -> CliError {
    let tell = async {
        if let Ok(cluster) = connect(args).await {
            tell_no_beginning(&cluster, config, &error).await;
        }
    };
    told.run_until_cancelled(tell).await;
    error
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
    let limits = Limits::load(&args.limits)?;
    let mut sources = plugins::find(config, &carried(&args.dir)?)?;
    let places = Places { fetched: work.root().join(BUNDLES), baked: args.baked.clone() };
    fetch(config, &mut sources, &places, publishing, cancel).await?;
    let host_name = ground::var("HOSTNAME").unwrap_or_else(|| place.pod.clone());
    let pod_ip = ground::var("SONOBUOY_ADVERTISE_IP");
    let settings = Settings {
        listen: listen(config, pod_ip.as_deref())?,
        advertise: Some(config.server.advertised(pod_ip.as_deref(), &host_name)),
        aliases: aliases(&place.namespace),
        vault: Some(Arc::new(SecretVault::new(cluster, &place.namespace, id, place.owner_reference()))),
        id: Some(id),
        config: as_map(config),
        timeout: seconds(config.server.timeout_seconds),
        deadline: seconds(config.plumbline.deadline_seconds),
        collect: COLLECT,
        survey_only: sources.is_empty(),
        receive: limits.uploads.clone(),
        limits: limits.modules.clone(),
        provenance: provenance(config),
        output: args.dir.clone(),
    };
    let fail_fast = config.plumbline.fail_fast.then(|| cancel.clone());
    let dispatcher = KubernetesDispatcher::new(KubernetesOptions {
        cluster: cluster.clone(),
        stage: place.stage(cluster, config).await,
        graces: graces(config),
        tree: work.tree(),
        fail_fast: fail_fast.clone(),
        survey: Some(survey(cluster.clone(), config, &place.namespace, work.tree())),
    });
    let modules = stock::modules(&limits)?;
    let begun = Box::pin(Run::begin(work, sources, settings, &modules, Arc::new(dispatcher))).await;
    let (run, begun) = begun.map_err(|error| CliError::system("the run cannot be begun").because(&error))?;
    tracing::info!(run = %run.id(), url = run.url(), ?begun, "the aggregator accepts results");
    let early = look_around(run.url(), fail_fast.as_ref()).await;

    let stop = CancellationToken::new();
    let state = run.state();
    let publisher = tokio::spawn(publish(publishing.clone(), state.clone(), stop.clone()));
    let finished = Box::pin(run.execute(cancel.clone())).await;
    let end = async {
        let mut finished = finished.map_err(|error| {
            let told = CliError::system("the run broke off")
                .because(&error)
                .hint("what was received is kept: a restarted container goes on with it");
            Broken::at(state.status(), told)
        })?;
        finished.status.failure = early;
        // Before it is sent away, which may take minutes: a container that is killed meanwhile is not to run all of it again.
        last::keep(&args.dir, &finished.status);
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

/// Fetches bundles, if there are any to fetch. Somebody who looks at the run meanwhile sees that it lives.
async fn fetch(
    config: &Config,
    sources: &mut [Source],
    places: &Places,
    publishing: &PublishOptions,
    cancel: &CancellationToken,
) -> Result<(), CliError> {
    if config.plumbline.bundles.is_empty() {
        return Ok(());
    }
    tokio::select! {
        fetched = Box::pin(bundles::fetch(config, sources, places)) => fetched,
        () = beat(publishing) => Ok(()),
        () = cancel.cancelled() => Err(CliError::system("the run was told to end while its bundles were fetched")),
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

async fn connect(args: &AggregatorArgs) -> Result<Cluster, CliError> {
    let cluster = match &args.kubeconfig {
        Some(path) => Cluster::connect(&ConnectOptions { kubeconfig: Some(path.clone()), context: None }).await,
        None => Cluster::in_pod(),
    };
    cluster.map_err(|error| CliError::cluster(&error))
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

/// The id of a run that goes on is its own; that of a new one is the configured one.
fn run_id(config: &Config, work: &WorkDir) -> Result<RunId, CliError> {
    let record = work
        .record()
        .map_err(|error| CliError::system("the run's working directory cannot be used").because(&error))?;
    if let Some(record) = record {
        return Ok(record.run);
    }
    if config.uuid.is_empty() {
        return Ok(RunId::random());
    }
    config.uuid.parse().map_err(|error: plumbline_core::NameError| {
        CliError::usage(format!("`UUID` in the configuration is no run id: `{}`", config.uuid)).because(&error)
    })
}

/// The modules that came with the run in ConfigMaps, unpacked: a directory for each plugin that has some.
fn carried(dir: &Path) -> Result<BTreeMap<String, PathBuf>, CliError> {
    let mounted = Path::new(names::MODULES_DIR);
    if !mounted.is_dir() {
        return Ok(BTreeMap::new());
    }
    let failed = |error: &dyn std::error::Error| {
        CliError::system("the modules that came with the run cannot be unpacked").because(error)
    };
    let mut unpacked = BTreeMap::new();
    for (plugin, files) in unpack_modules(mounted).map_err(|error| failed(&error))? {
        let target = dir.join(MODULES).join(&plugin);
        std::fs::create_dir_all(&target).map_err(|error| failed(&error))?;
        for (name, bytes) in files {
            std::fs::write(target.join(name), bytes).map_err(|error| failed(&error))?;
        }
        unpacked.insert(plugin, target);
    }
    Ok(unpacked)
}

/// Where the server listens: as configured, in a pod with the address `ip`.
fn listen(config: &Config, ip: Option<&str>) -> Result<SocketAddr, CliError> {
    let address = config.server.bind_address.parse().map_err(|error: std::net::AddrParseError| {
        CliError::usage(format!("`Server.bindaddress` is no address: `{}`", config.server.bind_address)).because(&error)
    })?;
    // Where pods have addresses of version 6 only, nobody could reach a server on every address of version 4; on every address of version
    // 6, a server has those of version 4 as well.
    let address = match (address, ip.and_then(|ip| ip.parse().ok())) {
        (IpAddr::V4(Ipv4Addr::UNSPECIFIED), Some(IpAddr::V6(_))) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        (address, _) => address,
    };
    Ok(SocketAddr::new(address, config.server.bind_port))
}

/// The names of the Service in front of this pod: whoever prefers names to addresses may use them.
fn aliases(namespace: &str) -> Vec<String> {
    let service = names::AGGREGATOR_SERVICE;
    vec![
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    ]
}

fn as_map(config: &Config) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(map)) => map,
        // A configuration that was read has a JSON form.
        _ => serde_json::Map::new(),
    }
}

/// Where plugins came from, as whoever began the run has written it down.
fn provenance(config: &Config) -> BTreeMap<PluginName, Provenance> {
    let own = &config.plumbline;
    let of = |(name, source): (&String, &String)| {
        let bundle = own.plugin_bundles.get(name).cloned();
        Some((name.parse().ok()?, Provenance { reference: Some(source.clone()), bundle, definition_file: None }))
    };
    own.plugin_sources.iter().filter_map(of).collect()
}

fn seconds(count: u64) -> Option<Duration> {
    (count > 0).then(|| Duration::from_secs(count))
}

fn graces(config: &Config) -> Graces {
    let of = |seconds: u32| Duration::from_secs(seconds.into());
    let graces = &config.plumbline.graces;
    Graces {
        image_pull: of(graces.image_pull),
        starting: of(graces.starting),
        unschedulable: of(graces.unschedulable),
        node_gone: of(graces.node_gone),
        pod_gone: of(graces.pod_gone),
        crash_loop: of(graces.crash_loop),
        no_result: of(graces.no_result),
        hello: of(graces.hello),
        no_pod: of(graces.no_pod),
    }
}

fn survey(
    cluster: Cluster,
    config: &Config,
    namespace: &str,
    tree: PathBuf,
) -> plumbline_kubernetes::dispatcher::Survey {
    let options = QueryOptions::from_config(config, namespace);
    Box::new(move || {
        let (cluster, options, tree) = (cluster.clone(), options.clone(), tree.clone());
        Box::pin(async move {
            let summary = query::survey(&cluster, &options, &tree).await;
            tracing::info!(queries = summary.queries, errors = summary.errors.len(), "the cluster was asked");
        })
    })
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
    tracing::warn!("told to end");
    cancel.cancel();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_with_an_address_of_version_6_is_listened_on() {
        let mut config = Config::default();
        let at = |config: &Config, ip: Option<&str>| listen(config, ip).map(|at| at.to_string()).unwrap();
        assert_eq!(at(&config, Some("10.0.0.7")), "0.0.0.0:8080");
        assert_eq!(at(&config, None), "0.0.0.0:8080");
        assert_eq!(at(&config, Some("fd00::7")), "[::]:8080");
        config.server.bind_address = "10.0.0.7".to_owned();
        assert_eq!(at(&config, Some("fd00::7")), "10.0.0.7:8080", "what is configured counts");
        config.server.bind_address = "nowhere".to_owned();
        assert!(listen(&config, None).is_err());
    }
}

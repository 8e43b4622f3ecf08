//! What a run starts with: the configuration of the aggregator, the pod that it runs in, the working
//! directory, and the plugins in the search path with the modules that came with them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_aggregator::{Provenance, Source, WorkDir, WorkDirError};
use plumbline_archive::disk::Disk;
use plumbline_core::config::{Config, MAX_CONFIG_BYTES, NativeSidecar, SecurityContextMode};
use plumbline_core::{Digest, PluginName, RunId};
use plumbline_kubernetes::chunks::unpack_modules;
use plumbline_kubernetes::dispatcher::Survey;
use plumbline_kubernetes::driver::{Stage, WorkerSecurity, progress_ports};
use plumbline_kubernetes::manifest::plugin_account;
use plumbline_kubernetes::monitor::GracePeriods;
use plumbline_kubernetes::query;
use plumbline_kubernetes::{Cluster, names, own_pod_uid};

use crate::aggregator::inputs;
use crate::error::{AppError, Explain as _, quoted};
use crate::files::{paths_in, read_start_text};
use crate::modules::LimitsFile;
use crate::sources;

/// The working directory of the run, in the aggregator's directory.
const WORK: &str = ".plumbline-run-aggregator";
/// How long the network of a pod may take to be ready after its start.
pub(super) const NETWORK_PATIENCE: Duration = Duration::from_secs(15);
/// The unpacked modules from ConfigMaps, in the aggregator's directory.
pub(super) const MODULES: &str = ".plumbline-modules";

/// How an aggregator runs.
#[derive(Debug, Clone, clap::Args)]
pub struct AggregatorOptions {
    /// Keep running at the end, so that the archive can be downloaded from this pod
    #[arg(long)]
    pub no_exit: bool,
    /// Directory of the run and its archive
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR, hide = true)]
    pub dir: PathBuf,
    /// Outside of a pod: kubeconfig of the cluster
    #[arg(long, value_name = "FILE", hide = true)]
    pub kubeconfig: Option<PathBuf>,
    /// Directory of the bundles in the image
    #[arg(long, value_name = "DIR", default_value = names::BAKED_BUNDLES_DIR, hide = true)]
    pub baked: PathBuf,
    /// The file with limits.
    #[command(flatten)]
    pub limits: LimitsFile,
}

/// The reason why a run cannot start in this container, or failed in it.
pub(super) struct StartError {
    pub(super) error: AppError,
    /// Whether the status of the run needs no update: it has the error already, the cluster does not
    /// answer, or another container works on the run.
    pub(super) published: bool,
}

impl StartError {
    pub(super) fn published(error: AppError) -> Self {
        Self { error, published: true }
    }
}

impl From<AppError> for StartError {
    fn from(error: AppError) -> Self {
        Self { error, published: false }
    }
}

/// Starts the log of the run, which also goes to the file at the path.
pub type StartLog<'a> = &'a (dyn Fn(&Path) -> Result<(), AppError> + Sync);

/// Opens the working directory of the run, starts its log, and determines its ID. With `inputs`,
/// a finished run with other ones is replaced.
pub(super) fn open_work_dir(
    home: &Path,
    config: &Config,
    inputs: Option<Digest>,
    start_log: StartLog<'_>,
) -> Result<(WorkDir, RunId), StartError> {
    Disk::default()
        .create_directories(home)
        .system_error(format_args!("failed to create the directory `{}`", home.display()))?;
    let mut work = open(home)?;
    let replaces = match inputs {
        Some(digest) => inputs::replaces_finished(home, &work, digest, config)?,
        None => false,
    };
    if replaces {
        inputs::forget(home, work)?;
        work = open(home)?;
    }
    start_log(&work.tree().join("meta/run.log"))?;
    if replaces {
        tracing::info!("the run that had finished here was that of another manifest: its archive is kept");
    }
    let id = run_id(config, &work)?;
    if let Some(digest) = inputs {
        inputs::record_new(home, &work, id, digest)?;
    }
    Ok((work, id))
}

fn open(home: &Path) -> Result<WorkDir, StartError> {
    WorkDir::open(home.join(WORK)).map_err(|cause| StartError {
        error: AppError::system("failed to use the run's working directory").because(&cause),
        published: matches!(cause, WorkDirError::Locked(_)),
    })
}

/// The ID of a run that continues is that of its record; a new run has the one in the
/// configuration.
fn run_id(config: &Config, work: &WorkDir) -> Result<RunId, AppError> {
    let record = work.record().system_error("failed to use the run's working directory")?;
    if let Some(record) = record {
        return Ok(record.run);
    }
    if config.uuid.is_empty() {
        return Ok(RunId::random());
    }
    config.uuid.parse().map_err(|error: plumbline_core::NameError| {
        AppError::usage(format!("`UUID` in the configuration is not a run ID: `{}`", config.uuid))
            .because(&error)
            .hint("write a UUID, or leave the key out")
    })
}

/// Unpacks the modules from ConfigMaps, into a directory for each plugin that has modules.
pub(super) fn unpack_modules_of_run(dir: &Path) -> Result<BTreeMap<String, PathBuf>, AppError> {
    let mounted = Path::new(names::MODULES_DIR);
    if !mounted.is_dir() {
        return Ok(BTreeMap::new());
    }
    let failed = "failed to unpack the modules of the run";
    let mut unpacked = BTreeMap::new();
    for (plugin, files) in unpack_modules(mounted).system_error(failed)? {
        let target = dir.join(MODULES).join(&plugin);
        std::fs::create_dir_all(&target).system_error(failed)?;
        for (name, bytes) in files {
            std::fs::write(target.join(name), bytes).system_error(failed)?;
        }
        unpacked.insert(plugin, target);
    }
    Ok(unpacked)
}

/// Reads the definitions in the directories of the search path, or those that the configuration
/// selects.
pub(super) fn find_plugins(config: &Config, modules: &BTreeMap<String, PathBuf>) -> Result<Vec<Source>, AppError> {
    if config.skip_plugins {
        return Ok(Vec::new());
    }
    let mut found = BTreeMap::new();
    for path in config.plugin_search_path.iter().map(PathBuf::from) {
        for file in definitions(&path)? {
            let mut source = sources::from_file(&file)?.source;
            // Modules come in ConfigMaps of their own, not next to definitions.
            source.bundle = modules.get(source.definition.name.as_str()).cloned();
            let name = source.definition.name.clone();
            if found.insert(name.clone(), source).is_some() {
                return Err(AppError::usage(format!("two definitions have the name `{name}`"))
                    .hint(format!("rename the second, `{}`: names must be unique in a run", file.display())));
            }
        }
    }
    let Some(selected) = &config.plugins else { return Ok(found.into_values().collect()) };
    let mut chosen = Vec::new();
    for selection in selected {
        let name = selection.name.parse().ok();
        match name.and_then(|name| found.remove(&name)) {
            Some(source) => chosen.push(source),
            None => {
                let there = if found.is_empty() { "none".to_owned() } else { quoted(found.keys()) };
                return Err(AppError::usage(format!("selected plugin `{}` not found", selection.name))
                    .hint(format!("plugins: {there}")));
            }
        }
    }
    Ok(chosen)
}

/// The YAML files of a directory, by name. A missing directory has none.
pub(super) fn definitions(directory: &Path) -> Result<Vec<PathBuf>, AppError> {
    let mut files = match paths_in(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        paths => paths.system_error(format_args!("failed to read the plugins in `{}`", directory.display()))?,
    };
    let is_yaml = |path: &Path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    // The files of a mounted ConfigMap are links into a hidden directory.
    files.retain(|path| is_yaml(path) && path.is_file());
    Ok(files)
}

/// Where the configuration is, in order of preference.
const CONFIG_FILES: [&str; 2] = ["config.json", "/etc/sonobuoy/config.json"];

/// The pod of this process.
#[derive(Debug, Clone)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: Option<String>,
}

/// Reads the configuration of the aggregator.
pub(super) fn read_config() -> Result<Config, AppError> {
    let named = var("SONOBUOY_CONFIG").map(PathBuf::from);
    let candidates: Vec<PathBuf> = match named {
        Some(path) => vec![path],
        None => CONFIG_FILES.into_iter().map(PathBuf::from).collect(),
    };
    let Some(path) = candidates.iter().find(|path| path.is_file()) else {
        let looked: Vec<_> = candidates.iter().map(|path| format!("`{}`", path.display())).collect();
        return Err(AppError::usage("found no configuration for the aggregator")
            .hint(format!("create {}, or set `SONOBUOY_CONFIG` to another file", looked.join(" and "))));
    };
    let mut config = read(path)?;
    // The variable counts even if it is empty, because definitions and workers must agree on it.
    if let Ok(dir) = std::env::var("RESULTS_DIR") {
        config.results_dir = dir;
    }
    if config.results_dir.is_empty() {
        names::RESULTS_DIR.clone_into(&mut config.results_dir);
    }
    if config.progress_updates_port.is_empty() {
        "8099".clone_into(&mut config.progress_updates_port);
    }
    if config.service_account_name.is_empty() {
        names::SERVICE_ACCOUNT.clone_into(&mut config.service_account_name);
    }
    Ok(config)
}

fn read(path: &Path) -> Result<Config, AppError> {
    let wrong = || AppError::usage(format!("invalid configuration `{}`", path.display()));
    let text = read_start_text(path, MAX_CONFIG_BYTES as u64 + 1).map_err(|error| wrong().because(&error))?;
    Config::over_zero(&text).map_err(|error| wrong().because(&error))
}

/// The value of a variable that is set and not empty.
pub(super) fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Pod {
    /// Reads name and namespace from the environment of the pod.
    pub(super) fn named(config: &Config) -> Self {
        let namespace = var("SONOBUOY_NAMESPACE").unwrap_or_else(|| config.namespace.clone());
        let namespace = if namespace.is_empty() { names::DEFAULT_NAMESPACE.to_owned() } else { namespace };
        let name = var("SONOBUOY_POD").or_else(|| var("HOSTNAME")).unwrap_or_else(|| names::AGGREGATOR_POD.to_owned());
        Self { namespace, name, uid: None }
    }

    /// Reads name and namespace from the environment of the pod, and its UID from the API server,
    /// if this account may read it.
    ///
    /// # Errors
    /// A temporary error, if the API server does not answer for `patience`.
    pub(super) async fn find(cluster: &Cluster, config: &Config, patience: Duration) -> Result<Self, AppError> {
        let pod = Self::named(config);
        match own_pod_uid(cluster, &pod.namespace, &pod.name, patience).await {
            Ok(uid) => Ok(Self { uid: Some(uid), ..pod }),
            Err(error) if error.is_transient() => Err(AppError::cluster(&error).temporary_if(true)),
            Err(error) => {
                // Objects without an owner stay until the clean-up or `delete`.
                tracing::warn!("{error}: objects of this run stay when this pod is deleted");
                Ok(pod)
            }
        }
    }

    pub(super) fn owner_reference(&self) -> Option<OwnerReference> {
        self.uid.clone().map(|uid| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.name.clone(),
            uid,
            ..OwnerReference::default()
        })
    }

    /// The settings that all plugins of the run share. If the version of the server is not known,
    /// they work with every version.
    pub(super) async fn stage(&self, cluster: &Cluster, config: &Config, run: RunId, sources: &[Source]) -> Stage {
        let native_sidecar = match config.plumbline.native_sidecar {
            NativeSidecar::Always => true,
            NativeSidecar::Never => false,
            NativeSidecar::Auto => match cluster.version().await {
                Ok(version) => version.has_native_sidecars(),
                Err(error) => {
                    tracing::warn!("{error}: workers run as plain containers");
                    false
                }
            },
        };
        Stage {
            run,
            namespace: self.namespace.clone(),
            service_account: config.service_account_name.clone(),
            plugin_account: (!config.from_sonobuoy).then(|| plugin_account(config).to_owned()),
            worker_image: config.worker_image.clone(),
            image_pull_policy: config.image_pull_policy.to_string(),
            image_pull_secrets: Some(config.image_pull_secrets.clone()).filter(|name| !name.is_empty()),
            custom_annotations: config.custom_annotations.clone(),
            results_dir: config.results_dir.clone(),
            progress_port: config.progress_updates_port.clone(),
            progress_ports: progress_ports(
                sources.iter().map(|source| source.definition.as_ref()),
                config.namespace_psa_enforce_level,
                &config.progress_updates_port,
            ),
            job_tolerations: config.plumbline.job_tolerations.clone(),
            owner: self.owner_reference(),
            native_sidecar,
            pod_security: config.namespace_psa_enforce_level,
            security: match config.security_context_mode {
                SecurityContextMode::NonRoot => WorkerSecurity::LikePlugin,
                SecurityContextMode::Platform => WorkerSecurity::Platform,
                SecurityContextMode::None => WorkerSecurity::Off,
            },
            disable_reconciliation: var("SONOBUOY_DISABLE_RECONCILIATION").as_deref() == Some("true"),
        }
    }
}

/// The address that the server listens on, in a pod with the IP address `ip`.
pub(super) fn listen(config: &Config, ip: Option<&str>) -> Result<SocketAddr, AppError> {
    let address = config.server.bind_address.parse().map_err(|error: std::net::AddrParseError| {
        AppError::usage(format!("invalid `Server.bindaddress`: `{}`", config.server.bind_address))
            .because(&error)
            .hint("write an IP address, such as `0.0.0.0`")
    })?;
    // A pod with IPv6 addresses only cannot be reached on `0.0.0.0`. A server on `::` also listens
    // on IPv4 addresses.
    let address = match (address, ip.and_then(|ip| ip.parse().ok())) {
        (IpAddr::V4(Ipv4Addr::UNSPECIFIED), Some(IpAddr::V6(_))) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        (address, _) => address,
    };
    Ok(SocketAddr::new(address, config.server.bind_port))
}

/// The DNS names of the Service of this pod, for the certificate of the server.
pub(super) fn aliases(namespace: &str) -> Vec<String> {
    let service = names::AGGREGATOR_SERVICE;
    vec![
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    ]
}

/// The configuration as a JSON object, for the archive.
pub(super) fn as_map(config: &Config) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(map)) => map,
        // Every configuration is a JSON object.
        _ => serde_json::Map::new(),
    }
}

/// The identity of the cluster and the version of its API server, for the archive, as far as this
/// process may read them.
pub(super) async fn info(cluster: &Cluster) -> serde_json::Map<String, serde_json::Value> {
    let (uid, version) = tokio::join!(cluster.uid(), cluster.version());
    let uid = uid.unwrap_or_else(|error| {
        tracing::info!("{error}: the archive does not identify the cluster");
        None
    });
    let version = version.ok().map(|version| version.git_version);
    let cluster = serde_json::json!({"uid": uid, "server-version": version});
    serde_json::Map::from_iter([("cluster".to_owned(), cluster)])
}

/// The origins of plugins, as the configuration has them.
pub(super) fn provenance(config: &Config) -> BTreeMap<PluginName, Provenance> {
    let (sources, bundles) = (&config.plumbline.plugin_sources, &config.plumbline.plugin_bundles);
    let of = |name: &String| {
        let (reference, bundle) = (sources.get(name).cloned(), bundles.get(name).cloned());
        Some((name.parse().ok()?, Provenance { reference, bundle, definition_file: None }))
    };
    sources.keys().chain(bundles.keys()).filter_map(of).collect()
}

/// A duration of `count` seconds; 0 means no limit.
pub(super) fn seconds(count: u64) -> Option<Duration> {
    (count > 0).then(|| Duration::from_secs(count))
}

/// How long each problem may last.
pub(super) fn graces(config: &Config) -> GracePeriods {
    let of = |seconds: u32| Duration::from_secs(seconds.into());
    let graces = &config.plumbline.graces;
    GracePeriods {
        image_pull: of(graces.image_pull),
        starting: of(graces.starting),
        unschedulable: of(graces.unschedulable),
        node_gone: of(graces.node_gone),
        pod_gone: of(graces.pod_gone),
        crash_loop: of(graces.crash_loop),
        no_result: of(graces.no_result),
        hello: of(graces.hello),
        no_pod: of(graces.no_pod),
        silent: of(graces.silent),
        silent_lost: seconds(graces.silent_lost.into()),
    }
}

/// The survey of the cluster.
pub(super) fn survey(cluster: Cluster, config: &Config, namespace: &str, tree: PathBuf) -> Survey {
    let config = Config { namespace: namespace.to_owned(), ..config.clone() };
    Box::new(move || {
        let (cluster, config, tree) = (cluster.clone(), config.clone(), tree.clone());
        Box::pin(async move {
            let summary = query::survey(&cluster, &config, &tree, &|_| {}).await;
            tracing::info!(queries = summary.queries, errors = summary.errors.len(), "read the state of the cluster");
        })
    })
}

#[cfg(test)]
mod tests {
    use plumbline_core::config::Selection;

    use super::*;

    fn config(dir: &Path) -> Config {
        Config { plugin_search_path: vec![dir.display().to_string(), "/does/not/exist".into()], ..Config::default() }
    }

    fn write(dir: &Path, file: &str, name: &str) {
        let text =
            format!("sonobuoy-config:\n  driver: Job\n  plugin-name: {name}\nspec:\n  name: plugin\n  image: i\n");
        std::fs::write(dir.join(file), text).unwrap();
    }

    #[test]
    fn all_or_those_that_are_selected() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "plugin-0.yaml", "a");
        write(dir.path(), "plugin-1.yml", "b");
        std::fs::write(dir.path().join("README.md"), "no definition").unwrap();
        let names = |config: &Config| -> Vec<String> {
            find_plugins(config, &BTreeMap::new()).unwrap().iter().map(|s| s.definition.name.to_string()).collect()
        };
        let mut config = config(dir.path());
        config.plugins = None;
        assert_eq!(names(&config), ["a", "b"]);
        config.plugins = Some(vec![Selection { name: "b".into() }]);
        assert_eq!(names(&config), ["b"]);
        config.plugins = Some(vec![]);
        assert!(names(&config).is_empty());
        config.plugins = Some(vec![Selection { name: "c".into() }]);
        let error = find_plugins(&config, &BTreeMap::new()).unwrap_err().in_full();
        assert!(error.contains("`c`") && error.contains("`a`, `b`"), "{error}");
    }

    #[test]
    fn two_of_one_name_and_what_cannot_be_read_are_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "plugin-0.yaml", "a");
        write(dir.path(), "plugin-1.yaml", "a");
        assert!(find_plugins(&config(dir.path()), &BTreeMap::new()).unwrap_err().in_full().contains("plugin-1.yaml"));
        std::fs::write(dir.path().join("plugin-1.yaml"), "- no\n- definition").unwrap();
        assert!(find_plugins(&config(dir.path()), &BTreeMap::new()).unwrap_err().in_full().contains("plugin-1.yaml"));
    }

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

//! The aggregator as a separate process, with the configuration, definitions and variables of its
//! pod, and the results of its run, as any client reads them.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumbline_bundle::Bundle;
use plumbline_core::config::{BundleSource, Config, Filters, PlumblineConfig, PodLogLimits, QueryLimits, Server};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{RunId, Status};
use plumbline_kubernetes::{Cluster, names, status};

use crate::Result;
use crate::proc::{cpu_seconds, status_kib};

/// The project that an aggregator is from. Both use the same files and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Plumbline.
    Plumbline,
    /// Sonobuoy, which writes its results below `/tmp/sonobuoy`, wherever its other files are.
    Sonobuoy,
}

pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) kind: Kind,
    /// The API server, as a kubeconfig.
    pub(crate) kubeconfig: String,
    /// The names of its DaemonSet plugins.
    pub(crate) plugins: &'a [&'a str],
    /// The format of their results.
    pub(crate) format: &'a str,
    /// The directory of a plugin with a check, which runs in place of these plugins.
    pub(crate) check: Option<&'a Path>,
    /// The directory for everything that it reads. Plumbline also writes there.
    pub(crate) dir: &'a Path,
}

/// The directory with the bundles that an image would have.
const BUNDLES: &str = "bundles";
/// The name of a plugin's definition.
const DEFINITION: &str = "plugin.yaml";
/// Maximum number of bytes of the log in an error.
const MAX_LOG_BYTES: usize = 4096;

/// A running aggregator, which is stopped when this is dropped.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
    /// The directory of its archive.
    pub(crate) dir: PathBuf,
}

impl Process {
    /// Starts an aggregator. It surveys nothing in the cluster, so that only the run of its plugins
    /// is measured. It still reads the logs of the plugins' pods.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        let dir = start.dir;
        let (home, plugins) = (dir.join("home"), dir.join("plugins.d"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&plugins)?;
        let bundles = match start.check {
            Some(check) => vec![install_check(check, dir, &plugins)?],
            None => {
                write_definitions(start, &plugins)?;
                Vec::new()
            }
        };
        let (address, port) = free_address()?;
        let config = Config {
            uuid: RunId::random().to_string(),
            resources: Some(Vec::new()),
            filters: Filters { namespaces: "^$".to_owned(), ..Filters::default() },
            limits: QueryLimits { pod_logs: PodLogLimits { namespaces: "^$".to_owned(), ..PodLogLimits::default() } },
            plugin_search_path: vec![plugins.to_string_lossy().into_owned()],
            server: Server {
                bind_address: address.to_string(),
                bind_port: port,
                advertise_address: String::new(),
                timeout_seconds: 3600,
            },
            plumbline: PlumblineConfig { bundles, ..PlumblineConfig::default() },
            ..Config::default()
        };
        let (config_file, kubeconfig, log) = (dir.join("config.json"), dir.join("kubeconfig"), dir.join("log"));
        fs::write(&config_file, config.to_json()?)?;
        fs::write(&kubeconfig, &start.kubeconfig)?;
        let output = File::create(&log)?;
        let mut command = Command::new(start.program);
        // The process stays at the end, so that its resource usage can be read.
        command.args(["aggregator", "--no-exit"]);
        if start.kind == Kind::Plumbline {
            command.arg("--dir").arg(&home).arg("--baked").arg(dir.join(BUNDLES));
        }
        let child = command
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .env_clear()
            .env("SONOBUOY_CONFIG", &config_file)
            .env("SONOBUOY_NAMESPACE", names::DEFAULT_NAMESPACE)
            .env("SONOBUOY_POD", names::AGGREGATOR_POD)
            .env("SONOBUOY_ADVERTISE_IP", address.to_string())
            // A name that it looks up at its start does not exist here. Do not wait long for that.
            .env("RES_OPTIONS", "timeout:1 attempts:1")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Self { child, log, dir: home })
    }

    /// Returns an error with the end of its log, if it has ended.
    pub(crate) fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.explain(&format!("the aggregator has ended: {status}")).into()),
        }
    }

    /// Returns `what`, and the end of its log.
    pub(crate) fn explain(&self, what: &str) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let end = log.get(log.len().saturating_sub(MAX_LOG_BYTES)..).unwrap_or_default();
        format!("{what}; the end of its log:\n{}", String::from_utf8_lossy(end))
    }

    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(&self.child.id().to_string())
    }

    pub(crate) fn peak_kib(&self) -> Result<u64> {
        status_kib(&self.child.id().to_string(), "VmHWM")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process is no longer needed, and may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes the definitions of plugins with images.
fn write_definitions(start: &Start<'_>, plugins: &Path) -> Result<()> {
    let format = start.format;
    for plugin in start.plugins {
        let yaml = format!(
            "sonobuoy-config: {{plugin-name: {plugin}, driver: DaemonSet, result-format: {format}}}\n\
             spec: {{name: plugin, image: registry.example/checks/{plugin}:v1, command: [\"/run.sh\"]}}\n"
        );
        fs::write(plugins.join(format!("{plugin}.yaml")), yaml)?;
    }
    Ok(())
}

/// Copies the plugin in the directory `check` to where an aggregator expects the bundles of its
/// image, below `dir`. Its definition goes to `plugins`.
fn install_check(check: &Path, dir: &Path, plugins: &Path) -> Result<BundleSource> {
    let bundle = Bundle::open(check)?;
    let target = dir.join(BUNDLES).join(bundle.name());
    for file in &bundle.files {
        let copy = target.join(&file.name);
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(check.join(&file.name), copy)?;
    }
    fs::copy(check.join(DEFINITION), plugins.join(format!("{}.yaml", bundle.name())))?;
    let (plugin, digest) = (bundle.name().to_owned(), bundle.digest().to_string());
    Ok(BundleSource { plugin, digest, reference: String::new() })
}

/// Returns a loopback address that only this process uses, with a free port. The system takes local
/// ports of other connections on 127.0.0.1. So nobody takes the port before the aggregator starts.
fn free_address() -> Result<(Ipv4Addr, u16)> {
    let [.., b, c] = std::process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, 77, b, c);
    let port = TcpListener::bind((address, 0))?.local_addr()?.port();
    Ok((address, port))
}

/// How long the full status may lag behind the last status.
const FULL: Duration = Duration::from_secs(30);
/// Interval for polling the status.
const LOOK: Duration = Duration::from_millis(100);

/// Returns the number of results that arrived and passed. `last` is the last status of the run.
pub(crate) async fn passed(cluster: &Cluster, last: RunStatus) -> Result<usize> {
    let good =
        |entry: &&PluginStatus| entry.status == EntryStatus::Complete && entry.result_status == Some(Status::Passed);
    Ok(entries(cluster, last).await?.iter().filter(good).count())
}

async fn entries(cluster: &Cluster, last: RunStatus) -> Result<Vec<PluginStatus>> {
    if last.compacted.is_none() {
        return Ok(last.plugins.unwrap_or_default());
    }
    let deadline = Instant::now() + FULL;
    while Instant::now() < deadline {
        let full = status::full(cluster, names::DEFAULT_NAMESPACE).await?;
        if let Some(full) = full.filter(|full| full.status == RunPhase::Complete) {
            return Ok(full.plugins.unwrap_or_default());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err("the full status did not follow the last status".into())
}

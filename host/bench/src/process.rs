//! The aggregator as a process of its own, with what it has in its pod: configuration, definitions, variables.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use plumbline_core::RunId;
use plumbline_core::config::{Config, Filters, PodLogLimits, QueryLimits, Server};
use plumbline_kubernetes::names;

use crate::Result;
use crate::proc::{cpu_seconds, status_kib};

/// Whose aggregator a program is. Both take the same files and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ours.
    Plumbline,
    /// Sonobuoy's. It writes its results below `/tmp/sonobuoy`, wherever its other files are.
    Sonobuoy,
}

/// An aggregator to be started.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) kind: Kind,
    /// The API server, as a kubeconfig.
    pub(crate) kubeconfig: String,
    /// The names of its DaemonSet plugins.
    pub(crate) plugins: &'a [&'a str],
    /// The format of their results.
    pub(crate) format: &'a str,
    /// Where everything is that it reads and, if it is ours, writes.
    pub(crate) dir: &'a Path,
}

/// Bytes of the log that are told when something went wrong.
const TOLD: usize = 4096;

/// A running aggregator. It ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
    /// Where its archive will be.
    pub(crate) dir: PathBuf,
}

impl Process {
    /// Starts it. It records nothing of the cluster at its end, so that the run of its plugins is measured. Logs of their pods are read.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        let dir = start.dir;
        let (home, plugins) = (dir.join("home"), dir.join("plugins.d"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&plugins)?;
        let format = start.format;
        for plugin in start.plugins {
            let yaml = format!(
                "sonobuoy-config: {{plugin-name: {plugin}, driver: DaemonSet, result-format: {format}}}\n\
                 spec: {{name: plugin, image: registry.example/checks/{plugin}:v1, command: [\"/run.sh\"]}}\n"
            );
            fs::write(plugins.join(format!("{plugin}.yaml")), yaml)?;
        }
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
            ..Config::default()
        };
        let (config_file, kubeconfig, log) = (dir.join("config.json"), dir.join("kubeconfig"), dir.join("log"));
        fs::write(&config_file, config.to_json()?)?;
        fs::write(&kubeconfig, &start.kubeconfig)?;
        let output = File::create(&log)?;
        let mut command = Command::new(start.program);
        // It stays at the end, so that what it has used can be asked for.
        command.args(["aggregator", "--no-exit"]);
        if start.kind == Kind::Plumbline {
            command.arg("--dir").arg(&home);
        }
        let child = command
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .env_clear()
            .env("SONOBUOY_CONFIG", &config_file)
            .env("SONOBUOY_NAMESPACE", names::DEFAULT_NAMESPACE)
            .env("SONOBUOY_POD", names::AGGREGATOR_POD)
            .env("SONOBUOY_ADVERTISE_IP", address.to_string())
            // The name that it looks for at its start is nowhere here: it is not to wait long for that.
            .env("RES_OPTIONS", "timeout:1 attempts:1")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Self { child, log, dir: home })
    }

    /// An error with the end of its log, if it has ended.
    pub(crate) fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.explain(&format!("the aggregator has ended: {status}")).into()),
        }
    }

    /// `what`, and the end of its log.
    pub(crate) fn explain(&self, what: &str) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let end = log.get(log.len().saturating_sub(TOLD)..).unwrap_or_default();
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
        // Nothing of it is needed any more; it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of loopback that belongs to this process alone, and a port that is free there: what the system gives to others as their own
/// end of a connection is on 127.0.0.1, so nobody takes the port between here and the aggregator's start.
fn free_address() -> Result<(Ipv4Addr, u16)> {
    let [.., b, c] = std::process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, 77, b, c);
    let port = TcpListener::bind((address, 0))?.local_addr()?.port();
    Ok((address, port))
}

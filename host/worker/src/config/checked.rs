//! The validated configuration.

use std::env::VarError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use http::Uri;
use plumbline_core::definition::{LogProgress, PROGRESS_VARIABLE};
use plumbline_core::duration::{DurationError, parse_duration};
use plumbline_core::{NodeName, PluginName, ResultKey};

use super::error::{ConfigError, Problem};
use super::key::Key;
use super::raw::{Given, Raw};

/// The default results directory, which plugin and worker share (docs/protocol.md, "Environment").
pub const DEFAULT_RESULTS_DIR: &str = "/tmp/sonobuoy/results";

/// The default port of the progress relay (docs/protocol.md, "Environment").
pub const DEFAULT_PROGRESS_PORT: u16 = 8099;

/// The default settle delay of a done file: 5 s. A sidecar that first needs to process the results
/// has this long to remove the file.
pub const DEFAULT_DONE_FILE_DELAY: Duration = Duration::from_secs(5);

/// Maximum settle delay: one day. A larger value is probably in the wrong unit.
const MAX_DONE_FILE_DELAY: Duration = Duration::from_secs(24 * 3600);

/// The kind of plugin that the worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A plugin that runs once for the whole cluster.
    Global {
        /// As below. This is only set for a native sidecar, which would be restarted until the
        /// plugin ends.
        sleep: i64,
    },
    /// A plugin that runs once on each node.
    SingleNode {
        /// How long to keep running after a successful upload, in seconds.
        ///
        /// Zero exits at once. A negative value keeps running until asked to stop, because a
        /// DaemonSet's pod that ends is restarted, and would run its plugin again.
        sleep: i64,
    },
}

/// The validated configuration of a worker.
#[derive(Clone)]
pub struct WorkerConfig {
    /// The URL of the aggregator: `https://HOST[:PORT]`. A path is ignored.
    pub aggregator_url: String,
    /// The plugin whose results are sent.
    pub plugin: PluginName,
    /// The name of this node, which is set if the mode is [`Mode::SingleNode`].
    pub node: Option<NodeName>,
    /// The results directory that plugin and worker share, as an absolute path.
    pub results_dir: PathBuf,
    /// The port of the progress relay. With 0, the system chooses one.
    pub progress_port: u16,
    /// The addresses on which the progress relay listens.
    ///
    /// The default is loopback only. The containers of a pod share it, and nobody else needs
    /// access.
    pub progress_bind: Vec<IpAddr>,
    /// The settle delay: how long a done file must exist before it is read.
    pub done_file_delay: Duration,
    /// The log in which to count progress if the plugin does not report it, or `None`.
    pub log_progress: Option<LogProgress>,
    /// The certificate of the run's CA, in PEM format.
    pub ca_cert: String,
    /// The plugin's certificate, in PEM format.
    pub client_cert: String,
    /// The private key of that certificate, in PEM format (SEC1 or PKCS#8).
    pub client_key: String,
}

impl WorkerConfig {
    /// Loads the configuration of this process from its environment, and from `file` for variables
    /// that are not set.
    ///
    /// # Errors
    /// Returns a [`ConfigError`] with all missing and invalid values at once.
    pub fn load(mode: Mode, file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::from_sources(mode, file, &|name| std::env::var(name))
    }

    /// Like [`WorkerConfig::load`], with a function in place of the environment.
    ///
    /// # Errors
    /// Returns the same errors as [`WorkerConfig::load`].
    pub fn from_sources(
        mode: Mode,
        file: Option<&Path>,
        environment: &dyn Fn(&str) -> Result<String, VarError>,
    ) -> Result<Self, ConfigError> {
        let raw = Raw::read(file, environment)?;
        let mut check = Check { values: raw.values, missing: Vec::new(), wrong: raw.problems };
        let aggregator_url = check.required(Key::AggregatorUrl, aggregator_url);
        let plugin = check.required(Key::ResultType, by_from_str::<PluginName>);
        let node = match mode {
            Mode::SingleNode { .. } => check.required(Key::NodeName, by_from_str::<NodeName>),
            Mode::Global { .. } => None,
        };
        let ca_cert = check.required(Key::CaCert, |text| pem(text, &["CERTIFICATE"]));
        let client_cert = check.required(Key::ClientCert, |text| pem(text, &["CERTIFICATE"]));
        let client_key = check.required(Key::ClientKey, |text| pem(text, &["EC PRIVATE KEY", "PRIVATE KEY"]));
        let results_dir = check.or_default(Key::ResultsDir, PathBuf::from(DEFAULT_RESULTS_DIR), results_dir);
        let progress_port = check.or_default(Key::ProgressPort, DEFAULT_PROGRESS_PORT, progress_port);
        let done_file_delay = check.or_default(Key::DoneFileDelay, DEFAULT_DONE_FILE_DELAY, done_file_delay);

        match (aggregator_url, plugin, ca_cert, client_cert, client_key, results_dir, progress_port, done_file_delay) {
            (
                Some(aggregator_url),
                Some(plugin),
                Some(ca_cert),
                Some(client_cert),
                Some(client_key),
                Some(results_dir),
                Some(progress_port),
                Some(done_file_delay),
            ) if check.missing.is_empty() && check.wrong.is_empty() => Ok(Self {
                aggregator_url,
                plugin,
                node,
                results_dir,
                progress_port,
                progress_bind: loopback(),
                done_file_delay,
                log_progress: log_progress(environment),
                ca_cert,
                client_cert,
                client_key,
            }),
            _ => {
                let old_name_set = check.missing.contains(&Problem::Missing(Key::AggregatorUrl))
                    && environment("MASTER_URL").is_ok_and(|text| !text.is_empty());
                let problems = check.missing.into_iter().chain(check.wrong).collect();
                Err(ConfigError::Invalid { problems, old_name_set })
            }
        }
    }

    /// Returns the key of the result that this worker sends.
    #[must_use]
    pub fn key(&self) -> ResultKey {
        match &self.node {
            Some(node) => ResultKey::new(self.plugin.clone(), node.clone()),
            None => ResultKey::global(self.plugin.clone()),
        }
    }
}

/// Reads the settings for progress from a log. Invalid ones are logged and ignored, because a
/// result without progress is still a result.
fn log_progress(environment: &dyn Fn(&str) -> Result<String, VarError>) -> Option<LogProgress> {
    let text = match environment(PROGRESS_VARIABLE) {
        Ok(text) if !text.trim().is_empty() => text,
        Ok(_) | Err(VarError::NotPresent) => return None,
        Err(VarError::NotUnicode(_)) => String::new(),
    };
    match serde_json::from_str::<LogProgress>(&text) {
        Ok(progress) if progress.is_inside() => return Some(progress),
        Ok(_) => tracing::warn!("`{PROGRESS_VARIABLE}` names a file outside of the results directory: it is not read"),
        Err(error) => tracing::warn!("`{PROGRESS_VARIABLE}` cannot be used: {error}"),
    }
    None
}

/// Returns both loopback addresses, because `localhost` may mean either of them.
fn loopback() -> Vec<IpAddr> {
    vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
}

impl fmt::Debug for WorkerConfig {
    /// Omits certificates and key, because a configuration may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerConfig")
            .field("aggregator_url", &self.aggregator_url)
            .field("plugin", &self.plugin)
            .field("node", &self.node)
            .field("results_dir", &self.results_dir)
            .field("progress_port", &self.progress_port)
            .field("progress_bind", &self.progress_bind)
            .field("done_file_delay", &self.done_file_delay)
            .finish_non_exhaustive()
    }
}

struct Check {
    values: std::collections::BTreeMap<Key, Given>,
    missing: Vec<Problem>,
    wrong: Vec<Problem>,
}

impl Check {
    fn required<T>(&mut self, key: Key, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let Some(given) = self.values.remove(&key) else {
            self.missing.push(Problem::Missing(key));
            return None;
        };
        self.parsed(key, &given, parse)
    }

    fn or_default<T>(&mut self, key: Key, default: T, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        match self.values.remove(&key) {
            Some(given) => self.parsed(key, &given, parse),
            None => Some(default),
        }
    }

    fn parsed<T>(&mut self, key: Key, given: &Given, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        match parse(given.text.trim()) {
            Ok(value) => Some(value),
            Err(why) => {
                self.wrong.push(Problem::Wrong { key, from: given.from.clone(), why });
                None
            }
        }
    }
}

fn by_from_str<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn aggregator_url(text: &str) -> Result<String, String> {
    let example = "write it as `https://HOST:PORT`";
    let uri = Uri::from_str(text).map_err(|error| format!("`{text}` is not a URL ({error}): {example}"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(host)) if !host.is_empty() => Ok(text.to_owned()),
        (Some(scheme), Some(_)) if scheme != "https" => {
            Err(format!("`{text}` has the scheme `{scheme}`, and aggregators speak only https: {example}"))
        }
        _ => Err(format!("`{text}` is not an absolute URL: {example}")),
    }
}

/// Checks only for a PEM block of the right kind. This detects a file name, or swapped key and
/// certificate, early.
///
/// The TLS library checks the content. The text itself never appears in a message.
fn pem(text: &str, labels: &[&str]) -> Result<String, String> {
    if labels.iter().any(|label| text.contains(&format!("-----BEGIN {label}-----"))) {
        return Ok(text.to_owned());
    }
    let wanted = labels.join("` or `");
    Err(format!("is not a PEM text with a block `{wanted}`"))
}

fn results_dir(text: &str) -> Result<PathBuf, String> {
    std::path::absolute(text).map_err(|error| format!("failed to resolve `{text}`: {error}"))
}

fn progress_port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("`{text}` is not a port: use a number from 0 to 65535"))
}

fn done_file_delay(text: &str) -> Result<Duration, String> {
    let delay = match parse_duration(text) {
        // A negative value means no delay, as in Sonobuoy's workers.
        Err(DurationError::Negative(_)) => Duration::ZERO,
        delay => delay.map_err(|error| error.to_string())?,
    };
    if delay > MAX_DONE_FILE_DELAY {
        return Err(format!("`{text}` is longer than a day"));
    }
    Ok(delay)
}

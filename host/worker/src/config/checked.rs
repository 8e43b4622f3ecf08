//! The checked configuration.

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

/// Where plugin and worker meet if nothing else is said (docs/protocol.md, «Environment»).
pub const DEFAULT_RESULTS_DIR: &str = "/tmp/sonobuoy/results";

/// The port of the progress relay if nothing else is said (docs/protocol.md, «Environment»).
pub const DEFAULT_PROGRESS_PORT: u16 = 8099;

/// How long a done file must have been there before it is believed, if nothing else is said: 5 s. A sidecar that wants to work on
/// the results first has this long to take the file away.
pub const DEFAULT_DONE_FILE_DELAY: Duration = Duration::from_secs(5);

/// The longest settle delay that is taken: a day. More is a mistake of units.
const MAX_DONE_FILE_DELAY: Duration = Duration::from_secs(24 * 3600);

/// What the worker stands beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A plugin that runs once for the whole cluster.
    Global {
        /// As below. Only a worker that is a native sidecar stays: it would be started again until the plugin ends.
        sleep: i64,
    },
    /// A plugin that runs once on each node.
    SingleNode {
        /// Seconds to stay after a successful upload: 0 ends at once, less than 0 stays until told to end. A pod of a DaemonSet
        /// that ends is started again, and would run its plugin a second time.
        sleep: i64,
    },
}

/// What a worker must know, checked.
#[derive(Clone)]
pub struct WorkerConfig {
    /// Where the aggregator listens: `https://HOST[:PORT]`. A path is ignored.
    pub aggregator_url: String,
    /// The plugin whose results are sent.
    pub plugin: PluginName,
    /// The node this is; there if the mode is [`Mode::SingleNode`].
    pub node: Option<NodeName>,
    /// Where plugin and worker meet; absolute.
    pub results_dir: PathBuf,
    /// The port of the progress relay; 0 lets the system choose one.
    pub progress_port: u16,
    /// The addresses that the progress relay listens on. Only loopback unless told otherwise: containers of a pod share it, and
    /// nobody else has business there.
    pub progress_bind: Vec<IpAddr>,
    /// How long a done file must have been there before it is believed.
    pub done_file_delay: Duration,
    /// Where the worker looks how far the plugin is when it does not say so; `None`: nowhere.
    pub log_progress: Option<LogProgress>,
    /// The certificate of the run's CA, PEM.
    pub ca_cert: String,
    /// The plugin's certificate, PEM.
    pub client_cert: String,
    /// The key of that certificate, PEM (SEC1 or PKCS#8).
    pub client_key: String,
}

impl WorkerConfig {
    /// The configuration of this process: from its environment, and from `file` for what the environment does not say.
    ///
    /// # Errors
    /// [`ConfigError`], with everything that is missing or wrong in one.
    pub fn load(mode: Mode, file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::from_sources(mode, file, &|name| std::env::var(name))
    }

    /// Like [`WorkerConfig::load`], with the environment as a function.
    ///
    /// # Errors
    /// As [`WorkerConfig::load`].
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

    /// The key of the result that this worker sends.
    #[must_use]
    pub fn key(&self) -> ResultKey {
        match &self.node {
            Some(node) => ResultKey::new(self.plugin.clone(), node.clone()),
            None => ResultKey::global(self.plugin.clone()),
        }
    }
}

/// What cannot be used is told and left out: a result without progress is still a result.
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

/// Both loopback addresses: `localhost` is one or the other, depending on the machine.
fn loopback() -> Vec<IpAddr> {
    vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
}

impl fmt::Debug for WorkerConfig {
    /// Without certificates and key: a configuration ends up in logs.
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

/// Checks only that it is PEM of the right kind, so that a file name or a swapped key and certificate is told apart early; what is
/// inside is for the TLS library. The text itself never goes into a message.
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
        // No wait at all, as Sonobuoy's workers take it.
        Err(DurationError::Negative(_)) => Duration::ZERO,
        delay => delay.map_err(|error| error.to_string())?,
    };
    if delay > MAX_DONE_FILE_DELAY {
        return Err(format!("`{text}` is longer than a day"));
    }
    Ok(delay)
}

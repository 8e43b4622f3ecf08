//! The configuration of a worker, from its environment and an optional file, validated once.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use http::Uri;
use plumbline_core::definition::{LogProgress, PROGRESS_VARIABLE};
use plumbline_core::duration::{DurationError, parse_duration};
use plumbline_core::{NodeName, PluginName, ResultKey};
use plumbline_phonehome::{ClientConfig, RetryPolicy, Timestamp, certificate_expiry};
use serde_json::Value;

/// The default results directory, which plugin and worker share (docs/protocol.md, "Environment").
pub const DEFAULT_RESULTS_DIR: &str = "/tmp/sonobuoy/results";

/// The default port of the progress relay (docs/protocol.md, "Environment").
pub const DEFAULT_PROGRESS_PORT: u16 = 8099;

/// The default settle delay of a done file: 5 s. A sidecar has this long to remove the file.
pub const DEFAULT_DONE_FILE_DELAY: Duration = Duration::from_secs(5);

/// The keys of a configuration file, in lower case. Files may use any case.
const FILE_KEYS: [&str; 8] =
    ["aggregatorurl", "resulttype", "nodename", "cacert", "clientcert", "clientkey", "resultsdir", "progressport"];

/// Maximum settle delay: one day.
const MAX_DONE_FILE_DELAY: Duration = Duration::from_secs(24 * 3600);

/// Maximum size of a configuration file: 1 MiB.
pub const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The kind of plugin that the worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A plugin that runs once for the whole cluster.
    Global {
        /// As below. Only a native sidecar sets it, which would be restarted until the plugin ends.
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
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The URL of the aggregator, the certificates and the key.
    pub client: ClientConfig,
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
    /// The default is loopback only, which the containers of a pod share.
    pub progress_bind: Vec<IpAddr>,
    /// The settle delay: how long a done file must exist before it is read.
    pub done_file_delay: Duration,
    /// How long uploads are retried. `None`: until the certificate expires.
    pub upload_retry: Option<Duration>,
    /// The log in which to count progress if the plugin does not report it, or `None`.
    pub log_progress: Option<LogProgress>,
}

/// Error in a worker's configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("failed to read the worker's configuration file `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The file is larger than [`MAX_CONFIG_BYTES`](MAX_CONFIG_BYTES).
    #[error("the worker's configuration file `{}` has more than {limit} bytes: is it the right file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file does not contain a JSON object.
    #[error("the worker's configuration file `{}` is not a JSON object", path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// The parse error, or `None` if it is valid JSON but not an object.
        source: Option<serde_json::Error>,
    },
    /// Values are missing or invalid.
    #[error("invalid configuration of the worker: {}", problems.join("; "))]
    Invalid {
        /// Every problem found, missing values first. None contains a secret.
        problems: Vec<String>,
        /// Whether values are missing.
        missing: bool,
        /// Whether the environment has the URL under its old name only.
        old_name_set: bool,
    },
}

impl ConfigError {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { old_name_set: true, .. } => Some("set `AGGREGATOR_URL`: `MASTER_URL` is no longer read"),
            Self::Invalid { missing: true, .. } => Some(
                "set these variables, or pass a file with `--config`; the aggregator sets them in the containers that it creates",
            ),
            _ => None,
        }
    }
}

impl WorkerConfig {
    /// Loads the configuration from the environment, and from `file` for variables that are not
    /// set.
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
        let mut sources = Sources { environment, file: BTreeMap::new(), missing: Vec::new(), wrong: Vec::new() };
        if let Some(path) = file {
            sources.read_file(path)?;
        }
        let aggregator_url = sources.required("AGGREGATOR_URL", "aggregatorurl", aggregator_url);
        let no_url = !sources.missing.is_empty();
        let plugin = sources.required("RESULT_TYPE", "resulttype", by_from_str::<PluginName>);
        let node = match mode {
            Mode::SingleNode { .. } => sources.required("NODE_NAME", "nodename", by_from_str::<NodeName>),
            Mode::Global { .. } => None,
        };
        let ca_cert = sources.required("CA_CERT", "cacert", |text| pem(text, &["CERTIFICATE"]));
        let client_cert = sources.required("CLIENT_CERT", "clientcert", |text| pem(text, &["CERTIFICATE"]));
        let key_labels = ["EC PRIVATE KEY", "PRIVATE KEY"];
        let client_key = sources.required("CLIENT_KEY", "clientkey", |text| pem(text, &key_labels));
        let results_dir = sources.optional(&["SONOBUOY_RESULTS_DIR", "RESULTS_DIR"], Some("resultsdir"), results_dir);
        let progress_port = sources.optional(&["SONOBUOY_PROGRESS_PORT"], Some("progressport"), progress_port);
        let done_file_delay = sources.optional(&["SONOBUOY_DONE_FILE_DELAY"], None, done_file_delay);
        let upload_retry = sources.optional(&["PLUMBLINE_UPLOAD_RETRY"], None, upload_retry);
        let Sources { missing, wrong, .. } = sources;
        match (aggregator_url, plugin, ca_cert, client_cert, client_key) {
            (Some(aggregator_url), Some(plugin), Some(ca_cert), Some(client_cert), Some(client_key))
                if missing.is_empty() && wrong.is_empty() =>
            {
                Ok(Self {
                    client: ClientConfig { aggregator_url, ca_cert, client_cert, client_key },
                    plugin,
                    node,
                    results_dir: results_dir.unwrap_or_else(|| PathBuf::from(DEFAULT_RESULTS_DIR)),
                    progress_port: progress_port.unwrap_or(DEFAULT_PROGRESS_PORT),
                    // `localhost` may mean either of them.
                    progress_bind: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
                    done_file_delay: done_file_delay.unwrap_or(DEFAULT_DONE_FILE_DELAY),
                    upload_retry,
                    log_progress: log_progress(environment),
                })
            }
            _ => {
                let old_name_set = no_url && environment("MASTER_URL").is_ok_and(|text| !text.is_empty());
                let (is_missing, problems) = (!missing.is_empty(), [missing, wrong].concat());
                Err(ConfigError::Invalid { problems, missing: is_missing, old_name_set })
            }
        }
    }

    /// Returns the key of the result that this worker sends.
    pub fn key(&self) -> ResultKey {
        match &self.node {
            Some(node) => ResultKey::new(self.plugin.clone(), node.clone()),
            None => ResultKey::global(self.plugin.clone()),
        }
    }

    /// Returns the retry policy of an upload that starts at `now`.
    ///
    /// An aggregator may be away for hours, such as with its node. It accepts the result until the run ends,
    /// which is before the certificate expires. Only the number of failed uploads has a limit.
    pub fn retry_policy(&self, now: Timestamp) -> RetryPolicy {
        let policy = RetryPolicy::default();
        let left = |until: Timestamp| Duration::try_from(until.duration_since(now)).unwrap_or_default();
        let until_expiry = || certificate_expiry(&self.client.client_cert).map(left).unwrap_or_default();
        let deadline = self.upload_retry.unwrap_or_else(|| until_expiry().max(policy.deadline));
        RetryPolicy { deadline, ..policy }
    }
}

/// The environment and the file, and the problems found in them.
struct Sources<'a> {
    environment: &'a dyn Fn(&str) -> Result<String, VarError>,
    /// The values of the file by key, each with the text that names its source.
    file: BTreeMap<String, (String, String)>,
    missing: Vec<String>,
    wrong: Vec<String>,
}

impl Sources<'_> {
    fn read_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        File::open(path).map_err(failed)?.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge { path: path.to_owned(), limit: MAX_CONFIG_BYTES });
        }
        let not_an_object = |source| ConfigError::NotAnObject { path: path.to_owned(), source };
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| not_an_object(Some(error)))?;
        let Value::Object(object) = value else { return Err(not_an_object(None)) };
        for (name, value) in object {
            let key = name.to_ascii_lowercase();
            if !FILE_KEYS.contains(&key.as_str()) {
                tracing::warn!(file = %path.display(), key = name, "unknown key in the worker's configuration file is ignored");
                continue;
            }
            let from = format!("`{name}` in `{}`", path.display());
            // Many users write a port as a number, although the reference specifies a string.
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) if key == "progressport" => number.to_string(),
                Value::Null => continue,
                _ => {
                    self.wrong.push(format!("{from}: must be text"));
                    continue;
                }
            };
            if !text.trim().is_empty() && self.file.insert(key, (text, from.clone())).is_some() {
                self.wrong.push(format!("{from}: is given twice, in different case"));
            }
        }
        Ok(())
    }

    fn required<T>(
        &mut self,
        variable: &str,
        file_key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let Some((text, from)) = self.find(&[variable], Some(file_key)) else {
            self.missing.push(format!("`{variable}` (in the file: `{file_key}`) is not set"));
            return None;
        };
        self.parse(&text, &from, parse)
    }

    fn optional<T>(
        &mut self,
        variables: &[&str],
        file_key: Option<&str>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (text, from) = self.find(variables, file_key)?;
        self.parse(&text, &from, parse)
    }

    /// Returns a value and the text that names its source. The environment takes precedence,
    /// because a file is often shared by many containers.
    fn find(&mut self, variables: &[&str], file_key: Option<&str>) -> Option<(String, String)> {
        for name in variables {
            match (self.environment)(name) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Some((text, format!("`{name}`"))),
                Err(VarError::NotPresent) => {}
                Err(VarError::NotUnicode(_)) => {
                    self.wrong.push(format!("`{name}`: is not valid UTF-8"));
                    break;
                }
            }
        }
        self.file.remove(file_key?)
    }

    fn parse<T>(&mut self, text: &str, from: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        parse(text.trim()).map_err(|why| self.wrong.push(format!("{from}: {why}"))).ok()
    }
}

/// Reads the settings for progress from a log. Invalid ones are logged and ignored.
fn log_progress(environment: &dyn Fn(&str) -> Result<String, VarError>) -> Option<LogProgress> {
    let text = match environment(PROGRESS_VARIABLE) {
        Ok(text) if !text.trim().is_empty() => text,
        Ok(_) | Err(VarError::NotPresent) => return None,
        Err(VarError::NotUnicode(_)) => String::new(),
    };
    match serde_json::from_str::<LogProgress>(&text) {
        Ok(progress) if progress.is_inside() => return Some(progress),
        Ok(_) => tracing::warn!("ignored `{PROGRESS_VARIABLE}`: its file is outside of the results directory"),
        Err(error) => tracing::warn!("ignored `{PROGRESS_VARIABLE}`: {error}"),
    }
    None
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
            Err(format!("`{text}` has the scheme `{scheme}`, but aggregators accept only https: {example}"))
        }
        _ => Err(format!("`{text}` is not an absolute URL: {example}")),
    }
}

/// Checks for a PEM block of the right kind, which detects file names and swapped values. The text
/// itself never appears in a message.
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

fn upload_retry(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
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

//! The configuration of the reporter: environment variables and intervals. Values are trimmed, and
//! an empty value counts as unset.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use plumbline_core::NodeName;
use tracing::Level;

/// The default path of the result.
const DEFAULT_PATH: &str = "/results/adapter-result.json";
/// Default interval between checks of the file, in seconds.
const DEFAULT_POLL: u64 = 2;
/// Default time limit for the adapter's result, in seconds.
const DEFAULT_WAIT: u64 = 300;
/// Default settle time of a file in the contract's JSON, in seconds.
const DEFAULT_SETTLE: u64 = 5;
/// Default settle time for other formats, in seconds. There, half a file may look complete.
const DEFAULT_SETTLE_FORMAT: u64 = 30;
/// The default condition type.
const DEFAULT_CONDITION: &str = "Available";
/// Condition types that Kubernetes itself sets on a Job.
const OWN_CONDITIONS: [&str; 5] = ["Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"];

/// The configuration of the reporter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The name of the Job (`JOB_NAME`).
    pub job: String,
    /// The namespace of the Job (`JOB_NAMESPACE`).
    pub namespace: String,
    /// The pod of adapter and reporter (`POD_NAME`).
    pub pod: String,
    /// The result file (`RESULTS_PATH`), as an absolute path without `.` and `..`.
    pub results_path: PathBuf,
    /// Interval between checks of the file (`POLL_INTERVAL_SECONDS`). Change notification, where
    /// available, is faster.
    pub poll_interval: Duration,
    /// The time limit for the adapter, from the start of the reporter (`MAX_WAIT_TIME_SECONDS`).
    pub max_wait: Duration,
    /// The condition type (`CONDITION_TYPE`).
    pub condition_type: String,
    /// The log level (`LOG_LEVEL`).
    pub log_level: Level,
    /// The adapter's container (`ADAPTER_CONTAINER_NAME`), or `None` for the first one that is not
    /// the reporter.
    pub adapter_container: Option<String>,
    /// The reporter's own container (`REPORTER_CONTAINER_NAME`), or `None` to detect it.
    pub reporter_container: Option<String>,
    /// Where to store the details of the result (`DETAILS_TO`).
    pub details_to: DetailsTo,
    /// The format of the file (`RESULT_FORMAT`), or `None` for the JSON of the contract.
    pub result_format: Option<String>,
    /// How long a file must not change before it is evaluated while the adapter is running
    /// (`RESULT_SETTLE_SECONDS`).
    pub settle: Duration,
    /// Warnings about suspicious settings, for the log.
    pub warnings: Vec<String>,
}

/// Where to store the details of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DetailsTo {
    /// They are not stored.
    #[default]
    Nowhere,
    /// In an annotation of the Job.
    Annotation,
    /// In a ConfigMap that the Job owns.
    ConfigMap,
    /// In the message of the Event.
    Event,
}

/// The intervals and timeouts of the reporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Interval between reads of the pod, if it may not be watched.
    pub pod: Duration,
    /// The same interval after the reporter was asked to stop.
    pub hurry: Duration,
    /// Delay before an ended watch is restarted.
    pub again: Duration,
    /// Timeout of the last read of the pod.
    pub last_look: Duration,
    /// How long writing the condition is retried.
    pub patience: Duration,
    /// The same limit after the reporter was asked to stop, within a pod's grace period of 30 s.
    pub last_patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pod: Duration::from_secs(5),
            hurry: Duration::from_millis(500),
            again: Duration::from_secs(1),
            last_look: Duration::from_secs(3),
            // An API server that restarts is back within this time.
            patience: Duration::from_secs(120),
            last_patience: Duration::from_secs(15),
        }
    }
}

/// Error in an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A required variable is unset or blank.
    #[error("{0}: required")]
    Required(&'static str),
    /// The value is invalid.
    #[error("{name}: {why}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// The reason.
        why: String,
    },
}

fn invalid(name: &'static str, why: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { name, why: why.into() }
}

impl Config {
    /// Reads the known variables, and ignores others.
    ///
    /// # Errors
    /// Returns an error for the first variable that is missing or invalid.
    pub fn from_env(env: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let get = |name: &str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let required = |name: &'static str| object_name(name, get(name).ok_or(ConfigError::Required(name))?);
        let job = required("JOB_NAME")?;
        let namespace = required("JOB_NAMESPACE")?;
        let pod = required("POD_NAME")?;
        let results_path = file_path("RESULTS_PATH", get("RESULTS_PATH").unwrap_or(DEFAULT_PATH))?;
        let seconds = |name: &'static str, default: u64| match get(name) {
            Some(text) => positive(name, text),
            None => Ok(Duration::from_secs(default)),
        };
        let poll_interval = seconds("POLL_INTERVAL_SECONDS", DEFAULT_POLL)?;
        let max_wait = seconds("MAX_WAIT_TIME_SECONDS", DEFAULT_WAIT)?;
        if poll_interval >= max_wait {
            let (poll, wait) = (poll_interval.as_secs(), max_wait.as_secs());
            let why = format!("must be less than MAX_WAIT_TIME_SECONDS ({poll} is not less than {wait})");
            return Err(invalid("POLL_INTERVAL_SECONDS", why));
        }
        let mut warnings = Vec::new();
        let condition_type = get("CONDITION_TYPE").unwrap_or(DEFAULT_CONDITION).to_owned();
        if OWN_CONDITIONS.contains(&condition_type.as_str()) {
            warnings.push(format!(
                "CONDITION_TYPE: `{condition_type}` is how Kubernetes itself tells how a Job goes; choose another type"
            ));
        }
        let result_format = get("RESULT_FORMAT").filter(|format| *format != "json").map(str::to_owned);
        let settle = if result_format.is_some() { DEFAULT_SETTLE_FORMAT } else { DEFAULT_SETTLE };
        Ok(Self {
            job,
            namespace,
            pod,
            results_path,
            poll_interval,
            max_wait,
            condition_type,
            log_level: log_level(get("LOG_LEVEL"), &mut warnings),
            adapter_container: get("ADAPTER_CONTAINER_NAME").map(str::to_owned),
            reporter_container: get("REPORTER_CONTAINER_NAME").map(str::to_owned),
            details_to: details_to(get("DETAILS_TO"))?,
            result_format,
            settle: seconds("RESULT_SETTLE_SECONDS", settle)?,
            warnings,
        })
    }
}

/// Validates a name for an API path. Anything else could address another object. All objects have
/// the names that nodes may have: DNS subdomains (RFC 1123).
fn object_name(name: &'static str, value: &str) -> Result<String, ConfigError> {
    let valid = value.parse::<NodeName>();
    valid.map(|_| value.to_owned()).map_err(|_| invalid(name, format!("`{value}` is not the name of an object")))
}

fn positive(name: &'static str, text: &str) -> Result<Duration, ConfigError> {
    match text.parse::<i64>() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds.unsigned_abs())),
        Ok(seconds) => Err(invalid(name, format!("must be positive, got {seconds}"))),
        Err(_) => Err(invalid(name, format!("must be an integer, got `{text}`"))),
    }
}

/// Validates an absolute file path, and removes `.` and `..` lexically.
fn file_path(name: &'static str, text: &str) -> Result<PathBuf, ConfigError> {
    let not_a_file = || invalid(name, format!("must be a file, not a directory, got `{text}`"));
    if text.ends_with('/') {
        return Err(not_a_file());
    }
    let path = Path::new(text);
    if !path.is_absolute() {
        return Err(invalid(name, format!("must be an absolute path, got `{text}`")));
    }
    let mut clean = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(part) => clean.push(part),
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if clean.file_name().is_some() { Ok(clean) } else { Err(not_a_file()) }
}

/// Parses the log level. An unknown one must not make a Job fail.
fn log_level(text: Option<&str>, warnings: &mut Vec<String>) -> Level {
    let text = text.unwrap_or("info");
    match text.to_ascii_lowercase().as_str() {
        "trace" => Level::TRACE,
        "debug" => Level::DEBUG,
        "info" => Level::INFO,
        "warn" | "warning" => Level::WARN,
        "error" | "fatal" | "panic" => Level::ERROR,
        _ => {
            warnings.push(format!("LOG_LEVEL: `{text}` is not one of trace, debug, info, warn, error; using info"));
            Level::INFO
        }
    }
}

fn details_to(text: Option<&str>) -> Result<DetailsTo, ConfigError> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("none") => Ok(DetailsTo::Nowhere),
        Some("annotation") => Ok(DetailsTo::Annotation),
        Some("configmap") => Ok(DetailsTo::ConfigMap),
        Some("event") => Ok(DetailsTo::Event),
        Some(other) => {
            Err(invalid("DETAILS_TO", format!("must be one of none, annotation, configmap, event, got `{other}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: [(&str, &str); 3] = [("JOB_NAME", "j"), ("JOB_NAMESPACE", "n"), ("POD_NAME", "p-1")];

    fn with(more: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let all = LEAST.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::from_env(&all.collect())
    }

    #[track_caller]
    fn refused(more: &[(&str, &str)], expected: &str) {
        assert_eq!(with(more).unwrap_err().to_string(), expected);
    }

    #[test]
    fn unset_variables_have_defaults() {
        let config = with(&[]).unwrap();
        assert_eq!(config.results_path, Path::new("/results/adapter-result.json"));
        assert_eq!((config.poll_interval.as_secs(), config.max_wait.as_secs()), (2, 300));
        assert_eq!((config.condition_type.as_str(), config.log_level), ("Available", Level::INFO));
        assert_eq!((config.adapter_container, config.reporter_container, config.result_format), (None, None, None));
        assert_eq!((config.details_to, config.settle.as_secs()), (DetailsTo::Nowhere, 5));
        assert!(config.warnings.is_empty());
    }

    #[test]
    fn values_are_trimmed_and_blank_ones_are_none() {
        let config = with(&[
            ("CONDITION_TYPE", " Ready "),
            ("RESULTS_PATH", "  "),
            ("ADAPTER_CONTAINER_NAME", "\ta\n"),
            ("MAX_WAIT_TIME_SECONDS", " 7 "),
            ("POLL_INTERVAL_SECONDS", ""),
        ]);
        let config = config.unwrap();
        assert_eq!((config.condition_type.as_str(), config.adapter_container.as_deref()), ("Ready", Some("a")));
        assert_eq!(config.results_path, Path::new(DEFAULT_PATH));
        assert_eq!((config.max_wait.as_secs(), config.poll_interval.as_secs()), (7, 2));
    }

    #[test]
    fn required_variables_are_reported_in_order() {
        let mut env = BTreeMap::new();
        for (name, value) in LEAST {
            assert_eq!(Config::from_env(&env).unwrap_err().to_string(), format!("{name}: required"));
            env.insert(name.to_owned(), "  ".to_owned());
            assert_eq!(Config::from_env(&env).unwrap_err(), ConfigError::Required(name));
            env.insert(name.to_owned(), value.to_owned());
        }
        assert!(Config::from_env(&env).is_ok());
    }

    #[test]
    fn names_cannot_leave_their_place_in_a_path() {
        for name in ["../x", "a/b", "A", "-a", "a.", "a..b", "a?b", &"a".repeat(254)] {
            assert!(with(&[("JOB_NAME", name)]).is_err(), "{name}");
        }
        assert!(with(&[("JOB_NAME", "a.b-1")]).is_ok());
    }

    #[test]
    fn intervals_are_positive_integers_and_the_poll_is_below_the_wait() {
        refused(&[("POLL_INTERVAL_SECONDS", "2s")], "POLL_INTERVAL_SECONDS: must be an integer, got `2s`");
        refused(&[("POLL_INTERVAL_SECONDS", "0")], "POLL_INTERVAL_SECONDS: must be positive, got 0");
        refused(&[("MAX_WAIT_TIME_SECONDS", "-1")], "MAX_WAIT_TIME_SECONDS: must be positive, got -1");
        refused(&[("MAX_WAIT_TIME_SECONDS", "1e3")], "MAX_WAIT_TIME_SECONDS: must be an integer, got `1e3`");
        refused(
            &[("MAX_WAIT_TIME_SECONDS", "2")],
            "POLL_INTERVAL_SECONDS: must be less than MAX_WAIT_TIME_SECONDS (2 is not less than 2)",
        );
        assert!(with(&[("MAX_WAIT_TIME_SECONDS", "9223372036854775807")]).is_ok());
    }

    #[test]
    fn the_path_is_absolute_and_a_file() {
        refused(&[("RESULTS_PATH", "/results/")], "RESULTS_PATH: must be a file, not a directory, got `/results/`");
        refused(&[("RESULTS_PATH", "a.json")], "RESULTS_PATH: must be an absolute path, got `a.json`");
        refused(&[("RESULTS_PATH", "/a/..")], "RESULTS_PATH: must be a file, not a directory, got `/a/..`");
        let clean = with(&[("RESULTS_PATH", "/a//./b/../c.json")]).unwrap().results_path;
        assert_eq!(clean, Path::new("/a/c.json"));
    }

    #[test]
    fn plumbline_variables_are_checked_too() {
        refused(
            &[("DETAILS_TO", "secret")],
            "DETAILS_TO: must be one of none, annotation, configmap, event, got `secret`",
        );
        assert_eq!(with(&[("DETAILS_TO", "ConfigMap")]).unwrap().details_to, DetailsTo::ConfigMap);
        let junit = with(&[("RESULT_FORMAT", "junit")]).unwrap();
        assert_eq!((junit.result_format.as_deref(), junit.settle.as_secs()), (Some("junit"), 30));
        assert_eq!(with(&[("RESULT_FORMAT", "json")]).unwrap().result_format, None);
        assert_eq!(with(&[("LOG_LEVEL", "WARNING")]).unwrap().log_level, Level::WARN);
        assert_eq!(with(&[("LOG_LEVEL", "loud")]).unwrap().warnings.len(), 1);
        assert_eq!(with(&[("CONDITION_TYPE", "Complete")]).unwrap().warnings.len(), 1);
    }
}

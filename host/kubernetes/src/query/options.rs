//! What is asked of the cluster.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::names;

/// Requests per second in the long run, if nothing else is said.
const QPS: f64 = 30.0;
/// Requests at once after a pause, if nothing else is said.
const BURST: u32 = 50;

/// What a survey asks of the cluster. The default is what a configuration says that says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryOptions {
    /// The plural names of the resources that are listed, and `podlogs`, `servergroups`, `serverversion`; `nodes` also stands for host
    /// data. `None`: everything that can be listed, except `secrets`.
    pub resources: Option<Vec<String>>,
    /// Whose namespaced resources are listed: a regular expression that is searched for anywhere in a namespace's name.
    pub namespaces: String,
    /// Restricts all lists of resources; empty for all objects.
    pub label_selector: String,
    /// Which logs are collected.
    pub pod_logs: PodLogOptions,
    /// Requests per second in the long run. Zero or less: the default, 30.
    pub qps: f64,
    /// Requests at once after a pause. Zero: the default, 50.
    pub burst: u32,
    /// The namespace of the run: looked at when namespaces cannot be listed.
    pub own_namespace: String,
    /// Where the configuration wants the files to go, for who has no other wish: its `QueryDir`, else its `UUID`.
    pub directory: Option<PathBuf>,
}

/// Which logs of which pods are collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodLogOptions {
    /// Pods of namespaces whose name this regular expression is found in; empty for none.
    pub namespaces: String,
    /// Pods of the run's own namespace as well.
    pub own_namespace: bool,
    /// Pods anywhere that one of these field selectors selects, as well.
    pub field_selectors: Vec<String>,
    /// Only pods that this selects; empty for all.
    pub label_selector: String,
    /// The log of the instance before the current one.
    pub previous: bool,
    /// Only lines of so many seconds before now.
    pub since_seconds: Option<i64>,
    /// Only lines from then on; not together with `since_seconds`.
    pub since_time: Option<Timestamp>,
    /// Every line begins with its time.
    pub timestamps: bool,
    /// Only so many lines from the end.
    pub tail_lines: Option<i64>,
    /// Only so many bytes from the beginning. Never more than 64 MiB per container, whatever is asked for.
    pub limit_bytes: Option<i64>,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            resources: None,
            namespaces: ".*".to_owned(),
            label_selector: String::new(),
            pod_logs: PodLogOptions::default(),
            qps: QPS,
            burst: BURST,
            own_namespace: names::DEFAULT_NAMESPACE.to_owned(),
            directory: None,
        }
    }
}

impl Default for PodLogOptions {
    fn default() -> Self {
        Self {
            namespaces: "kube-system".to_owned(),
            own_namespace: true,
            field_selectors: Vec::new(),
            label_selector: String::new(),
            previous: false,
            since_seconds: None,
            since_time: None,
            timestamps: false,
            tail_lines: None,
            limit_bytes: None,
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not JSON, or not an object.
    #[error("not a configuration: {0}")]
    Syntax(String),
    /// A key has a value of the wrong kind.
    #[error("`{key}` must be {wanted}")]
    Kind {
        /// The key, with those above it.
        key: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// Two keys that exclude each other.
    #[error("`SinceTime` and `SinceSeconds` are both set: set one of them")]
    BothSince,
}

impl QueryOptions {
    /// Reads what concerns queries out of a configuration (`config.json`). Keys are found whatever their case; unknown ones and `null`
    /// are passed over, and what is not said stays as by default.
    ///
    /// # Errors
    /// When it is no JSON object, a value is of the wrong kind, or both `SinceTime` and `SinceSeconds` are set.
    pub fn from_config_json(text: &str) -> Result<Self, ConfigError> {
        let config: Value = serde_json::from_str(text).map_err(|error| ConfigError::Syntax(error.to_string()))?;
        if !config.is_object() {
            return Err(ConfigError::Syntax("it is no JSON object".to_owned()));
        }
        let mut options = Self::default();
        if let Some(value) = find(&config, &["Resources"]) {
            options.resources = Some(strings("Resources", value)?);
        }
        set_string(&mut options.namespaces, &config, "Filters.Namespaces", &["Filters", "Namespaces"])?;
        set_string(&mut options.label_selector, &config, "Filters.LabelSelector", &["Filters", "LabelSelector"])?;
        if let Some(value) = find(&config, &["QPS"]) {
            options.qps = value.as_f64().ok_or(ConfigError::Kind { key: "QPS", wanted: "a number" })?;
        }
        if let Some(value) = find(&config, &["Burst"]) {
            options.burst = value
                .as_u64()
                .and_then(|burst| u32::try_from(burst).ok())
                .ok_or(ConfigError::Kind { key: "Burst", wanted: "a whole number that is not negative" })?;
        }
        set_string(&mut options.own_namespace, &config, "Namespace", &["Namespace"])?;
        for key in ["UUID", "QueryDir"] {
            let mut path = String::new();
            set_string(&mut path, &config, key, &[key])?;
            if !path.is_empty() {
                options.directory = Some(path.into());
            }
        }
        if let Some(limits) = find(&config, &["Limits", "PodLogs"]) {
            options.pod_logs = pod_logs(limits)?;
        }
        Ok(options)
    }
}

fn pod_logs(limits: &Value) -> Result<PodLogOptions, ConfigError> {
    let mut options = PodLogOptions::default();
    set_string(&mut options.namespaces, limits, "Limits.PodLogs.Namespaces", &["Namespaces"])?;
    set_bool(&mut options.own_namespace, limits, "Limits.PodLogs.SonobuoyNamespace", "SonobuoyNamespace")?;
    if let Some(value) = find(limits, &["FieldSelectors"]) {
        options.field_selectors = strings("Limits.PodLogs.FieldSelectors", value)?;
    }
    set_string(&mut options.label_selector, limits, "Limits.PodLogs.LabelSelector", &["LabelSelector"])?;
    set_bool(&mut options.previous, limits, "Limits.PodLogs.Previous", "Previous")?;
    options.since_seconds = integer(limits, "Limits.PodLogs.SinceSeconds", "SinceSeconds")?;
    if let Some(value) = find(limits, &["SinceTime"]) {
        let wrong =
            ConfigError::Kind { key: "Limits.PodLogs.SinceTime", wanted: "a time such as 2026-11-20T13:00:00Z" };
        options.since_time = Some(value.as_str().and_then(|text| text.parse().ok()).ok_or(wrong)?);
    }
    set_bool(&mut options.timestamps, limits, "Limits.PodLogs.Timestamps", "Timestamps")?;
    options.tail_lines = integer(limits, "Limits.PodLogs.TailLines", "TailLines")?;
    options.limit_bytes = integer(limits, "Limits.PodLogs.LimitBytes", "LimitBytes")?;
    if options.since_seconds.is_some() && options.since_time.is_some() {
        return Err(ConfigError::BothSince);
    }
    Ok(options)
}

/// What stands below a path of keys, whatever their case: the exact key wins. `null` counts as absent.
fn find<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let mut at = value;
    for key in path {
        let object = at.as_object()?;
        at = object
            .get(*key)
            .or_else(|| object.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value))?;
    }
    (!at.is_null()).then_some(at)
}

fn set_string(to: &mut String, value: &Value, key: &'static str, path: &[&str]) -> Result<(), ConfigError> {
    if let Some(found) = find(value, path) {
        found.as_str().ok_or(ConfigError::Kind { key, wanted: "a text" })?.clone_into(to);
    }
    Ok(())
}

fn set_bool(to: &mut bool, value: &Value, key: &'static str, name: &str) -> Result<(), ConfigError> {
    if let Some(found) = find(value, &[name]) {
        *to = found.as_bool().ok_or(ConfigError::Kind { key, wanted: "true or false" })?;
    }
    Ok(())
}

fn integer(value: &Value, key: &'static str, name: &str) -> Result<Option<i64>, ConfigError> {
    find(value, &[name])
        .map(|found| {
            let wrong = ConfigError::Kind { key, wanted: "a whole number that is not negative" };
            found.as_i64().filter(|&number| number >= 0).ok_or(wrong)
        })
        .transpose()
}

fn strings(key: &'static str, value: &Value) -> Result<Vec<String>, ConfigError> {
    let wrong = ConfigError::Kind { key, wanted: "a list of texts" };
    value
        .as_array()
        .and_then(|list| list.iter().map(|entry| entry.as_str().map(ToOwned::to_owned)).collect())
        .ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_by_default() {
        let mut expected = QueryOptions::default();
        assert_eq!(QueryOptions::from_config_json(r#"{"Resources":null,"LimitSize":"x"}"#).unwrap(), expected);
        expected.pod_logs.own_namespace = false;
        expected.pod_logs.tail_lines = Some(7);
        expected.label_selector = "a=b".to_owned();
        expected.qps = 2.5;
        expected.directory = Some("there".into());
        let text = r#"{"filters":{"labelselector":"a=b"},"qps":2.5,"UUID":"id","querydir":"there",
            "LIMITS":{"podlogs":{"sonobuoynamespace":false,"TailLines":7,"SinceTime":null}}}"#;
        assert_eq!(QueryOptions::from_config_json(text).unwrap(), expected);
    }

    #[test]
    fn wrong_values_are_named() {
        for (text, told) in [
            ("[]", "not a configuration: it is no JSON object"),
            (r#"{"Burst":-1}"#, "`Burst` must be a whole number that is not negative"),
            (r#"{"Resources":[1]}"#, "`Resources` must be a list of texts"),
            (r#"{"Limits":{"PodLogs":{"Previous":"no"}}}"#, "`Limits.PodLogs.Previous` must be true or false"),
            (
                r#"{"Limits":{"PodLogs":{"SinceSeconds":1,"SinceTime":"2026-01-01T00:00:00Z"}}}"#,
                "`SinceTime` and `SinceSeconds` are both set: set one of them",
            ),
        ] {
            assert_eq!(QueryOptions::from_config_json(text).unwrap_err().to_string(), told, "{text}");
        }
    }
}

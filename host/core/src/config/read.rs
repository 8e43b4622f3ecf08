//! Reads a configuration from JSON.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::config::model::{
    BundleSource, Config, GracePeriods, MAX_BUNDLES, PlumblineConfig, PodLogLimits, Selection, Server, Telemetry,
};
use crate::config::values::{EFFECTS, Toleration, UnknownChoice};
use crate::schedule::{KeepLimits, Schedule};
use crate::size::Bytes;
use crate::text::{described, first_chars};

/// The size limit of a configuration: 1 MiB, the limit of a ConfigMap.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;

const SECONDS: &str = "a whole number of seconds";

/// Error while reading a configuration. Messages name the key by its path, such as
/// `Limits.PodLogs.SinceTime`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The configuration is larger than [`MAX_CONFIG_BYTES`].
    #[error("configuration has {}, more than the limit of {}", Bytes(*.bytes), Bytes(MAX_CONFIG_BYTES as u64))]
    TooLarge {
        /// The size in bytes.
        bytes: u64,
    },
    /// The configuration is not valid JSON.
    #[error("configuration is not valid JSON: {0}")]
    Json(String),
    /// A value has the wrong type.
    #[error("`{path}` must be {expected}: found {found}")]
    WrongType {
        /// The path of the key.
        path: String,
        /// The expected type.
        expected: &'static str,
        /// The value found.
        found: String,
    },
    /// A key is given twice, in different spellings.
    #[error("`{first}` and `{second}` are the same key: keep one")]
    Twice {
        /// One spelling of the key.
        first: String,
        /// The other spelling of the key.
        second: String,
    },
    /// The key does not accept the text.
    #[error("`{path}`: {cause}")]
    Value {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: String,
    },
    /// Two mutually exclusive keys are both set.
    #[error("`Limits.PodLogs.SinceTime` and `Limits.PodLogs.SinceSeconds` cannot be combined: keep one")]
    ConflictingSince,
}

impl Config {
    /// Reads a configuration as the command line does: an absent key keeps its default.
    pub fn over_defaults(json: &str) -> Result<Self, ConfigError> {
        Self::default().overlaid(json)
    }

    /// Reads a configuration as the aggregator does: an absent key is zero, empty or none, as in
    /// Sonobuoy. A timeout of 0 means no timeout.
    ///
    /// Defaults apply only to the address and port to listen on, settings with a fixed set of
    /// values, and the section `Plumbline`.
    pub fn over_zero(json: &str) -> Result<Self, ConfigError> {
        Self::zero().overlaid(json)
    }

    fn overlaid(mut self, json: &str) -> Result<Self, ConfigError> {
        if json.len() > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge { bytes: json.len() as u64 });
        }
        let value: Value = serde_json::from_str(json).map_err(|error| ConfigError::Json(error.to_string()))?;
        let mut fields = Fields::new(String::new(), value)?;
        self.read(&mut fields)?;
        self.server.settle();
        let logs = &self.limits.pod_logs;
        if logs.since_seconds.is_some() && logs.since_time.is_some() {
            return Err(ConfigError::ConflictingSince);
        }
        Ok(self)
    }

    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.text("Description", &mut self.description)?;
        from.text("UUID", &mut self.uuid)?;
        from.text("Version", &mut self.version)?;
        from.text("ResultsDir", &mut self.results_dir)?;
        from.text("QueryDir", &mut self.query_dir)?;
        if let Some(resources) = from.nullable_texts("Resources")? {
            self.resources = resources;
        }
        if let Some(mut filters) = from.section("Filters")? {
            filters.text("Namespaces", &mut self.filters.namespaces)?;
            filters.text("LabelSelector", &mut self.filters.label_selector)?;
        }
        if let Some(mut limits) = from.section("Limits")?
            && let Some(mut logs) = limits.section("PodLogs")?
        {
            self.limits.pod_logs.read(&mut logs)?;
        }
        from.rate("QPS", &mut self.qps)?;
        from.whole("Burst", &mut self.burst, "a whole number of 32 bits")?;
        if let Some(mut server) = from.section("Server")? {
            self.server.read(&mut server)?;
        }
        self.read_plugins(from)?;
        from.text("Namespace", &mut self.namespace)?;
        from.text("WorkerImage", &mut self.worker_image)?;
        from.choice("ImagePullPolicy", &mut self.image_pull_policy)?;
        from.truth("ForceImagePullPolicy", &mut self.force_image_pull_policy)?;
        from.text("ImagePullSecrets", &mut self.image_pull_secrets)?;
        from.map("CustomAnnotations", &mut self.custom_annotations)?;
        from.choice("AggregatorPermissions", &mut self.aggregator_permissions)?;
        self.aggregator_tolerations = tolerations(from, "AggregatorTolerations")?.unwrap_or_default();
        from.text("ServiceAccountName", &mut self.service_account_name)?;
        from.truth("ExistingServiceAccount", &mut self.existing_service_account)?;
        from.text("E2EDockerConfigFile", &mut self.e2e_docker_config_file)?;
        from.choice("NamespacePSAEnforceLevel", &mut self.namespace_psa_enforce_level)?;
        from.text("ProgressUpdatesPort", &mut self.progress_updates_port)?;
        from.choice("SecurityContextMode", &mut self.security_context_mode)?;
        if let Some(mut own) = from.section("Plumbline")? {
            self.from_sonobuoy = false;
            self.plumbline.read(&mut own)?;
        }
        Ok(())
    }

    fn read_plugins(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.truth("SkipPlugins", &mut self.skip_plugins)?;
        from.texts("PluginSearchPath", &mut self.plugin_search_path)?;
        let Some(list) = from.list("Plugins")? else { return Ok(()) };
        let selection = |(i, item)| {
            // The list of plugins started out with bare strings, and users may still write them.
            if let Value::String(name) = item {
                return Ok(Selection { name });
            }
            let mut fields = Fields::new(format!("Plugins[{i}]"), item)?;
            let mut name = String::new();
            fields.required_text("name", &mut name, "the name of a plugin")?;
            Ok(Selection { name })
        };
        self.plugins = list.map(|list| list.into_iter().enumerate().map(selection).collect()).transpose()?;
        Ok(())
    }
}

impl PodLogLimits {
    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.text("Namespaces", &mut self.namespaces)?;
        from.truth("SonobuoyNamespace", &mut self.sonobuoy_namespace)?;
        from.texts("FieldSelectors", &mut self.field_selectors)?;
        from.text("LabelSelector", &mut self.label_selector)?;
        from.truth("Previous", &mut self.previous)?;
        from.optional_whole("SinceSeconds", &mut self.since_seconds)?;
        if let Some(text) = from.nullable("SinceTime", "text", text)? {
            let time = |text: String| {
                let expected = "an RFC 3339 time, such as `2026-01-31T12:00:00Z`";
                text.parse().map_err(|_| wrong_type(&from.at("SinceTime"), expected, &text.into()))
            };
            self.since_time = text.map(time).transpose()?;
        }
        from.truth("Timestamps", &mut self.timestamps)?;
        from.optional_whole("TailLines", &mut self.tail_lines)?;
        from.optional_whole("LimitBytes", &mut self.limit_bytes)
    }
}

impl Server {
    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.text("bindaddress", &mut self.bind_address)?;
        from.whole("bindport", &mut self.bind_port, "a port, from 0 to 65535")?;
        from.text("advertiseaddress", &mut self.advertise_address)?;
        from.whole("timeoutseconds", &mut self.timeout_seconds, SECONDS)
    }
}

impl PlumblineConfig {
    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        if let Some(mut graces) = from.section("Graces")? {
            self.graces.read(&mut graces)?;
        }
        from.truth("FailFast", &mut self.fail_fast)?;
        from.truth("QueryKubelets", &mut self.query_kubelets)?;
        from.choice("NativeSidecar", &mut self.native_sidecar)?;
        self.job_tolerations = tolerations(from, "JobTolerations")?;
        if let Some(storage) = from.parsed("Storage")? {
            self.storage = storage;
        }
        from.text("UploadURL", &mut self.upload_url)?;
        from.text("UploadSecret", &mut self.upload_secret)?;
        from.whole("DeadlineSeconds", &mut self.deadline_seconds, SECONDS)?;
        if let Some(mut section) = from.section("Schedule")? {
            self.schedule = Some(schedule(&mut section)?);
        }
        from.text("KubernetesVersion", &mut self.kubernetes_version)?;
        from.map("NamespaceLabels", &mut self.namespace_labels)?;
        from.map("NamespaceAnnotations", &mut self.namespace_annotations)?;
        from.map("PluginSources", &mut self.plugin_sources)?;
        from.map("PluginBundles", &mut self.plugin_bundles)?;
        self.read_bundles(from)?;
        if let Some(mut telemetry) = from.section("Telemetry")? {
            self.telemetry.read(&mut telemetry)?;
        }
        if let Some(mut registry) = from.section("Registry")? {
            registry.texts("Insecure", &mut self.registry.insecure)?;
            registry.texts("TokenServers", &mut self.registry.token_servers)?;
            registry.text("CA", &mut self.registry.ca)?;
        }
        Ok(())
    }

    fn read_bundles(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        let path = from.at("Bundles");
        let Some(Some(list)) = from.list("Bundles")? else { return Ok(()) };
        if list.len() > MAX_BUNDLES {
            return Err(wrong_type(&path, "a list of at most 256 bundles", &Value::Array(list)));
        }
        let bundle = |(i, item)| {
            let mut fields = Fields::new(format!("{path}[{i}]"), item)?;
            let mut bundle = BundleSource::default();
            fields.required_text("Plugin", &mut bundle.plugin, "the name of a plugin")?;
            fields.text("Reference", &mut bundle.reference)?;
            fields.required_text("Digest", &mut bundle.digest, "the digest of a bundle")?;
            Ok(bundle)
        };
        self.bundles = list.into_iter().enumerate().map(bundle).collect::<Result<_, _>>()?;
        Ok(())
    }
}

impl Telemetry {
    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.whole("MetricsPort", &mut self.metrics_port, "a port, from 0 to 65535")?;
        from.text("OTLPEndpoint", &mut self.otlp_endpoint)?;
        from.text("OTLPSecret", &mut self.otlp_secret)?;
        from.text("TraceParent", &mut self.trace_parent)?;
        from.text("TraceState", &mut self.trace_state)
    }
}

fn schedule(from: &mut Fields) -> Result<Schedule, ConfigError> {
    let mut cron = String::new();
    from.required_text("Cron", &mut cron, "a cron expression, such as `0 3 * * *`")?;
    let cron = from.parse("Cron", &cron)?;
    let zone = from.parsed("TimeZone")?.unwrap_or_default();
    let mut keep = KeepLimits::default();
    from.optional_whole("KeepRuns", &mut keep.runs)?;
    from.optional_whole("KeepDays", &mut keep.days)?;
    from.optional_whole("KeepBytes", &mut keep.bytes)?;
    Ok(Schedule { cron, zone, keep })
}

impl GracePeriods {
    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.whole("ImagePull", &mut self.image_pull, SECONDS)?;
        from.whole("Starting", &mut self.starting, SECONDS)?;
        from.whole("Unschedulable", &mut self.unschedulable, SECONDS)?;
        from.whole("NodeGone", &mut self.node_gone, SECONDS)?;
        from.whole("PodGone", &mut self.pod_gone, SECONDS)?;
        from.whole("CrashLoop", &mut self.crash_loop, SECONDS)?;
        from.whole("NoResult", &mut self.no_result, SECONDS)?;
        from.whole("Hello", &mut self.hello, SECONDS)?;
        from.whole("NoPod", &mut self.no_pod, SECONDS)?;
        from.whole("Silent", &mut self.silent, SECONDS)?;
        from.whole("SilentLost", &mut self.silent_lost, SECONDS)
    }
}

/// Reads the tolerations under `key`. Returns `None` if the key is missing.
fn tolerations(from: &mut Fields, key: &str) -> Result<Option<Vec<Toleration>>, ConfigError> {
    let Some(list) = from.list(key)?.flatten() else { return Ok(None) };
    let place = from.at(key);
    let toleration = |(i, item)| {
        let path = format!("{place}[{i}]");
        // A map of strings, whose keys are matched exactly.
        let mut fields = text_map(&path, &item)?;
        let mut take = |key: &str| fields.remove(key).unwrap_or_default();
        let read =
            Toleration { key: take("key"), operator: take("operator"), value: take("value"), effect: take("effect") };
        if !["", "Exists", "Equal"].contains(&read.operator.as_str()) {
            return Err(wrong_type(&format!("{path}.operator"), "`Exists` or `Equal`", &read.operator.into()));
        }
        if !read.effect.is_empty() && !EFFECTS.contains(&read.effect.as_str()) {
            let expected = "`NoSchedule`, `PreferNoSchedule` or `NoExecute`";
            return Err(wrong_type(&format!("{path}.effect"), expected, &read.effect.into()));
        }
        Ok(read)
    };
    list.into_iter().enumerate().map(toleration).collect::<Result<_, _>>().map(Some)
}

/// An object with case-insensitive keys, whose values are read *over* existing ones.
///
/// An absent key changes nothing. `null` changes nothing either, except where "none" is a value:
/// lists, maps, optional numbers. Sonobuoy reads configurations in the same way.
#[derive(Debug)]
struct Fields {
    path: String,
    values: Map<String, Value>,
}

impl Fields {
    fn new(path: String, value: Value) -> Result<Self, ConfigError> {
        match value {
            Value::Object(values) => Ok(Self { path, values }),
            other => Err(wrong_type(&path, "an object", &other)),
        }
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn take(&mut self, key: &str) -> Result<Option<Value>, ConfigError> {
        let spellings: Vec<String> = self.values.keys().filter(|k| k.eq_ignore_ascii_case(key)).cloned().collect();
        match spellings.as_slice() {
            [] => Ok(None),
            [one] => Ok(self.values.remove(one)),
            [first, second, ..] => Err(ConfigError::Twice { first: self.at(first), second: self.at(second) }),
        }
    }

    /// Takes the value of `key` as `convert` reads it. Returns `None` if it is absent, and
    /// `Some(None)` if it is `null`. `expected` describes the type in messages.
    fn nullable<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<Option<T>>, ConfigError> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(value) => match convert(&value) {
                Some(read) => Ok(Some(Some(read))),
                None => Err(wrong_type(&self.at(key), expected, &value)),
            },
        }
    }

    /// Sets `into` to the value of `key`, unless it is absent or `null`.
    fn set<T>(
        &mut self,
        key: &str,
        into: &mut T,
        expected: &'static str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<(), ConfigError> {
        if let Some(Some(value)) = self.nullable(key, expected, convert)? {
            *into = value;
        }
        Ok(())
    }

    fn section(&mut self, key: &str) -> Result<Option<Self>, ConfigError> {
        let value = self.take(key)?.filter(|value| !value.is_null());
        value.map(|value| Self::new(self.at(key), value)).transpose()
    }

    fn text(&mut self, key: &str, into: &mut String) -> Result<(), ConfigError> {
        self.set(key, into, "text", text)
    }

    fn required_text(&mut self, key: &str, into: &mut String, expected: &'static str) -> Result<(), ConfigError> {
        self.text(key, into)?;
        if into.is_empty() { Err(wrong_type(&self.at(key), expected, &Value::Null)) } else { Ok(()) }
    }

    fn truth(&mut self, key: &str, into: &mut bool) -> Result<(), ConfigError> {
        self.set(key, into, "`true` or `false`", Value::as_bool)
    }

    fn whole<T: TryFrom<u64>>(&mut self, key: &str, into: &mut T, expected: &'static str) -> Result<(), ConfigError> {
        self.set(key, into, expected, number)
    }

    /// Reads an optional whole number. `null` clears it.
    fn optional_whole(&mut self, key: &str, into: &mut Option<u64>) -> Result<(), ConfigError> {
        if let Some(value) = self.nullable(key, "a whole number", number)? {
            *into = value;
        }
        Ok(())
    }

    fn rate(&mut self, key: &str, into: &mut f64) -> Result<(), ConfigError> {
        let rate = |value: &Value| value.as_f64().filter(|rate| rate.is_finite() && *rate >= 0.0);
        self.set(key, into, "a number that is not negative", rate)
    }

    fn list(&mut self, key: &str) -> Result<Option<Option<Vec<Value>>>, ConfigError> {
        self.nullable(key, "a list", |value| value.as_array().cloned())
    }

    fn nullable_texts(&mut self, key: &str) -> Result<Option<Option<Vec<String>>>, ConfigError> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let item = |(i, item): (usize, &Value)| {
            text(item).ok_or_else(|| wrong_type(&format!("{}[{i}]", self.at(key)), "text", item))
        };
        list.map(|list| list.iter().enumerate().map(item).collect()).transpose().map(Some)
    }

    /// Reads a list of strings. `null` clears it.
    fn texts(&mut self, key: &str, into: &mut Vec<String>) -> Result<(), ConfigError> {
        if let Some(texts) = self.nullable_texts(key)? {
            *into = texts.unwrap_or_default();
        }
        Ok(())
    }

    /// Reads a map of strings. Its keys are data and keep their case. `null` clears it.
    fn map(&mut self, key: &str, into: &mut BTreeMap<String, String>) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key)? {
            *into = if value.is_null() { BTreeMap::new() } else { text_map(&self.at(key), &value)? };
        }
        Ok(())
    }

    /// Reads one of a fixed set of values. An empty string sets the default.
    fn choice<T: FromStr<Err = UnknownChoice> + Default>(
        &mut self,
        key: &str,
        into: &mut T,
    ) -> Result<(), ConfigError> {
        match self.nullable(key, "text", text)?.flatten().as_deref() {
            None => {}
            Some("") => *into = T::default(),
            Some(text) => *into = self.parse(key, text)?,
        }
        Ok(())
    }

    /// Takes a text and parses it. Returns `None` if it is absent or `null`.
    fn parsed<T: FromStr<Err: Display>>(&mut self, key: &str) -> Result<Option<T>, ConfigError> {
        let text = self.nullable(key, "text", text)?.flatten();
        text.map(|text| self.parse(key, &text)).transpose()
    }

    fn parse<T: FromStr<Err: Display>>(&self, key: &str, text: &str) -> Result<T, ConfigError> {
        text.parse().map_err(|cause: T::Err| ConfigError::Value { path: self.at(key), cause: cause.to_string() })
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Converts a JSON number to a whole number. Some YAML tools write `30` as `30.0`, so both are
/// accepted.
fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float))?;
        format!("{float:.0}").parse().ok()
    })?;
    T::try_from(whole).ok()
}

fn text_map(path: &str, value: &Value) -> Result<BTreeMap<String, String>, ConfigError> {
    let Value::Object(fields) = value else { return Err(wrong_type(path, "an object", value)) };
    let entry = |(key, value): (&String, &Value)| match text(value) {
        Some(text) => Ok((key.clone(), text)),
        None => Err(wrong_type(&format!("{path}.{key}"), "text", value)),
    };
    fields.iter().map(entry).collect()
}

fn wrong_type(path: &str, expected: &'static str, found: &Value) -> ConfigError {
    let path = if path.is_empty() { "the configuration" } else { path };
    ConfigError::WrongType { path: first_chars(path, 200).to_owned(), expected, found: described(found, "an object") }
}

//! Reads a configuration from JSON.

use serde_json::Value;

use crate::config::fields::{ConfigError, Fields, MAX_CONFIG_BYTES, text, text_map, wrong_type};
use crate::config::model::{Config, PodLogLimits, Selection, Server};
use crate::config::section::{BundleSource, GracePeriods, MAX_BUNDLES, PlumblineConfig, Telemetry};
use crate::config::values::{EFFECTS, Toleration};
use crate::schedule::{KeepLimits, Schedule};

const SECONDS: &str = "a whole number of seconds";

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

//! Reads a configuration from JSON.

use serde_json::Value;

use super::error::MAX_CONFIG_BYTES;
use crate::config::error::ConfigError;
use crate::config::fields::{Fields, text_map, wrong_type};
use crate::config::model::{Config, PodLogLimits, Selection, Server};
use crate::config::own::{BundleSource, GracePeriods, MAX_BUNDLES, PlumblineConfig};
use crate::config::toleration::{EFFECTS, Toleration};

const SECONDS: &str = "a whole number of seconds";

impl Config {
    /// Reads a configuration as the command line does: an absent key keeps its default.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the key.
    pub fn over_defaults(json: &str) -> Result<Self, ConfigError> {
        Self::default().overlaid(json)
    }

    /// Reads a configuration as the aggregator does: an absent key is zero, empty or none, as in
    /// Sonobuoy. A timeout of 0 means no timeout.
    ///
    /// Defaults apply only to the address and port to listen on, settings with a fixed set of
    /// values, and the section `Plumbline`.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the key.
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
        from.texts("Resources", &mut self.resources)?;
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
        match from.section("Plumbline")? {
            Some(mut own) => {
                self.from_sonobuoy = false;
                self.plumbline.read(&mut own)
            }
            None => Ok(()),
        }
    }

    fn read_plugins(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.truth("SkipPlugins", &mut self.skip_plugins)?;
        let mut path = Some(std::mem::take(&mut self.plugin_search_path));
        from.texts("PluginSearchPath", &mut path)?;
        self.plugin_search_path = path.unwrap_or_default();

        let mut list =
            self.plugins.take().map(|plugins| plugins.iter().map(|one| Value::from(one.name.as_str())).collect());
        from.list("Plugins", &mut list)?;
        let selection = |(i, item)| -> Result<Selection, ConfigError> {
            // The list of plugins started out with bare strings, and users may still write them.
            if let Value::String(name) = item {
                return Ok(Selection { name });
            }
            let path = format!("Plugins[{i}]");
            let mut name = String::new();
            Fields::new(path.clone(), item)?.text("name", &mut name)?;
            if name.is_empty() {
                return Err(wrong_type(&format!("{path}.name"), "the name of a plugin", &Value::Null));
            }
            Ok(Selection { name })
        };
        self.plugins =
            list.map(|list: Vec<Value>| list.into_iter().enumerate().map(selection).collect()).transpose()?;
        Ok(())
    }
}

fn one_of(path: &str, key: &str, text: &str, known: &[&str], expected: &'static str) -> Result<(), ConfigError> {
    match known.contains(&text) {
        true => Ok(()),
        false => Err(wrong_type(&format!("{path}.{key}"), expected, &Value::from(text))),
    }
}

impl PodLogLimits {
    fn read(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        from.text("Namespaces", &mut self.namespaces)?;
        from.truth("SonobuoyNamespace", &mut self.sonobuoy_namespace)?;
        let mut selectors = Some(std::mem::take(&mut self.field_selectors));
        from.texts("FieldSelectors", &mut selectors)?;
        self.field_selectors = selectors.unwrap_or_default();
        from.text("LabelSelector", &mut self.label_selector)?;
        from.truth("Previous", &mut self.previous)?;
        from.optional_whole("SinceSeconds", &mut self.since_seconds)?;
        match from.nullable("SinceTime")? {
            None => {}
            Some(None) => self.since_time = None,
            Some(Some(text)) => {
                let time = text.parse().map_err(|_| {
                    let expected = "a time as of RFC 3339, such as `2026-01-31T12:00:00Z`";
                    wrong_type(&from.at("SinceTime"), expected, &Value::from(text.as_str()))
                })?;
                self.since_time = Some(time);
            }
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

/// Reads the tolerations under `key`. Returns `None` if the key is missing.
fn tolerations(from: &mut Fields, key: &str) -> Result<Option<Vec<Toleration>>, ConfigError> {
    let place = from.at(key);
    let mut list = None;
    from.list(key, &mut list)?;
    let toleration = |(i, item)| -> Result<Toleration, ConfigError> {
        let path = format!("{place}[{i}]");
        // A map of strings, whose keys are matched exactly.
        let mut fields = text_map(&path, item)?;
        let mut take = |key: &str| fields.remove(key).unwrap_or_default();
        let read =
            Toleration { key: take("key"), operator: take("operator"), value: take("value"), effect: take("effect") };
        one_of(&path, "operator", &read.operator, &["", "Exists", "Equal"], "`Exists` or `Equal`")?;
        let effects = [&[""], &EFFECTS[..]].concat();
        one_of(&path, "effect", &read.effect, &effects, "`NoSchedule`, `PreferNoSchedule` or `NoExecute`")?;
        Ok(read)
    };
    list.map(|list: Vec<Value>| list.into_iter().enumerate().map(toleration).collect()).transpose()
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
        let mut storage = None;
        from.parsed("Storage", &mut storage)?;
        if let Some(text) = storage {
            let path = from.at("Storage");
            self.storage = text.parse().map_err(|cause| ConfigError::Storage { path, cause })?;
        }
        from.text("UploadURL", &mut self.upload_url)?;
        from.text("UploadSecret", &mut self.upload_secret)?;
        from.whole("DeadlineSeconds", &mut self.deadline_seconds, SECONDS)?;
        from.text("KubernetesVersion", &mut self.kubernetes_version)?;
        from.map("NamespaceLabels", &mut self.namespace_labels)?;
        from.map("NamespaceAnnotations", &mut self.namespace_annotations)?;
        from.map("PluginSources", &mut self.plugin_sources)?;
        from.map("PluginBundles", &mut self.plugin_bundles)?;
        self.read_bundles(from)?;
        if let Some(mut registry) = from.section("Registry")? {
            let mut insecure = Some(std::mem::take(&mut self.registry.insecure));
            registry.texts("Insecure", &mut insecure)?;
            self.registry.insecure = insecure.unwrap_or_default();
            let mut servers = Some(std::mem::take(&mut self.registry.token_servers));
            registry.texts("TokenServers", &mut servers)?;
            self.registry.token_servers = servers.unwrap_or_default();
            registry.text("CA", &mut self.registry.ca)?;
        }
        Ok(())
    }

    fn read_bundles(&mut self, from: &mut Fields) -> Result<(), ConfigError> {
        let path = from.at("Bundles");
        let mut list = None;
        from.list("Bundles", &mut list)?;
        let Some(list) = list else { return Ok(()) };
        if list.len() > MAX_BUNDLES {
            return Err(wrong_type(&path, "a list of at most 256 bundles", &Value::Array(list)));
        }
        let bundle = |(i, item)| -> Result<BundleSource, ConfigError> {
            let mut fields = Fields::new(format!("{path}[{i}]"), item)?;
            let mut bundle = BundleSource::default();
            fields.text("Plugin", &mut bundle.plugin)?;
            fields.text("Reference", &mut bundle.reference)?;
            fields.text("Digest", &mut bundle.digest)?;
            let missing = [
                ("Plugin", &bundle.plugin, "the name of a plugin"),
                ("Digest", &bundle.digest, "the digest of a bundle"),
            ];
            for (key, value, expected) in missing {
                if value.is_empty() {
                    return Err(wrong_type(&fields.at(key), expected, &Value::Null));
                }
            }
            Ok(bundle)
        };
        self.bundles = list.into_iter().enumerate().map(bundle).collect::<Result<_, _>>()?;
        Ok(())
    }
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

//! What the aggregator stands on: its configuration, its pod, its cluster.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_aggregator::Source;
use plumbline_app::AppError;
use plumbline_core::config::{Config, MAX_CONFIG_BYTES, NativeSidecar, SecurityContextMode};
use plumbline_kubernetes::driver::{Owner, Stage, WorkerSecurity, progress_ports};
use plumbline_kubernetes::manifest::plugin_account;
use plumbline_kubernetes::{Cluster, names, own_pod_uid};

/// SourceKind the configuration is looked for, first to last.
const CONFIG_FILES: [&str; 2] = ["config.json", "/etc/sonobuoy/config.json"];

/// The pod that this process runs in.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) uid: Option<String>,
}

/// Reads the configuration, which must be there.
pub(super) fn config() -> Result<Config, AppError> {
    let named = var("SONOBUOY_CONFIG").map(PathBuf::from);
    let candidates: Vec<PathBuf> = match named {
        Some(path) => vec![path],
        None => CONFIG_FILES.into_iter().map(PathBuf::from).collect(),
    };
    let Some(path) = candidates.iter().find(|path| path.is_file()) else {
        let looked: Vec<_> = candidates.iter().map(|path| format!("`{}`", path.display())).collect();
        return Err(AppError::usage("there is no configuration for the aggregator")
            .hint(format!("looked for {}; `SONOBUOY_CONFIG` names another file", looked.join(" and "))));
    };
    let mut config = read(path)?;
    // Set, even if empty, it counts: definitions and workers must agree on it.
    if let Ok(dir) = std::env::var("RESULTS_DIR") {
        config.results_dir = dir;
    }
    if config.results_dir.is_empty() {
        names::RESULTS_DIR.clone_into(&mut config.results_dir);
    }
    if config.progress_updates_port.is_empty() {
        "8099".clone_into(&mut config.progress_updates_port);
    }
    if config.service_account_name.is_empty() {
        names::SERVICE_ACCOUNT.clone_into(&mut config.service_account_name);
    }
    Ok(config)
}

fn read(path: &Path) -> Result<Config, AppError> {
    let wrong = || AppError::usage(format!("invalid configuration `{}`", path.display()));
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_CONFIG_BYTES as u64 + 1).read_to_string(&mut text))
        .map_err(|error| wrong().because(&error))?;
    Config::over_zero(&text).map_err(|error| wrong().because(&error))
}

/// A variable that is set and not empty.
pub(super) fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Place {
    /// What the environment of the pod says; its uid from the server, which is asked for it.
    pub(super) async fn find(cluster: &Cluster, config: &Config) -> Self {
        let namespace = var("SONOBUOY_NAMESPACE").unwrap_or_else(|| config.namespace.clone());
        let namespace = if namespace.is_empty() { names::DEFAULT_NAMESPACE.to_owned() } else { namespace };
        let pod = var("SONOBUOY_POD").or_else(|| var("HOSTNAME")).unwrap_or_else(|| names::AGGREGATOR_POD.to_owned());
        let uid = match own_pod_uid(cluster, &namespace, &pod).await {
            Ok(uid) => Some(uid),
            Err(error) => {
                // Without an owner everything stays until the clean-up or `delete`; nothing else changes.
                tracing::warn!("{error}: what is created here does not go when this pod goes");
                None
            }
        };
        Self { namespace, pod, uid }
    }

    pub(super) fn owner(&self) -> Option<Owner> {
        self.uid.clone().map(|uid| Owner { name: self.pod.clone(), uid })
    }

    pub(super) fn owner_reference(&self) -> Option<OwnerReference> {
        self.uid.clone().map(|uid| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.pod.clone(),
            uid,
            ..OwnerReference::default()
        })
    }

    /// What all plugins of the run have in common. A server whose version is not known gets what every server understands.
    pub(super) async fn stage(&self, cluster: &Cluster, config: &Config, sources: &[Source]) -> Stage {
        let native_sidecar = match config.plumbline.native_sidecar {
            NativeSidecar::Always => true,
            NativeSidecar::Never => false,
            NativeSidecar::Auto => match cluster.version().await {
                Ok(version) => version.has_native_sidecars(),
                Err(error) => {
                    tracing::warn!("{error}: workers are plain containers");
                    false
                }
            },
        };
        Stage {
            namespace: self.namespace.clone(),
            service_account: config.service_account_name.clone(),
            plugin_account: (!config.of_sonobuoy).then(|| plugin_account(config).to_owned()),
            worker_image: config.worker_image.clone(),
            image_pull_policy: config.image_pull_policy.to_string(),
            image_pull_secrets: Some(config.image_pull_secrets.clone()).filter(|name| !name.is_empty()),
            custom_annotations: config.custom_annotations.clone(),
            results_dir: config.results_dir.clone(),
            progress_port: config.progress_updates_port.clone(),
            progress_ports: progress_ports(
                sources.iter().map(|source| source.definition.as_ref()),
                &config.progress_updates_port,
            ),
            job_tolerations: config.plumbline.job_tolerations.clone(),
            owner: self.owner(),
            native_sidecar,
            security: match config.security_context_mode {
                SecurityContextMode::NonRoot => WorkerSecurity::LikePlugin,
                SecurityContextMode::Platform => WorkerSecurity::Platform,
                SecurityContextMode::None => WorkerSecurity::Off,
            },
            disable_reconciliation: var("SONOBUOY_DISABLE_RECONCILIATION").as_deref() == Some("true"),
        }
    }
}

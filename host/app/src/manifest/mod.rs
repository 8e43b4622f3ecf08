//! The objects of a run in a cluster, and the definitions of plugins.
//!
//! [`ClusterRunOptions::config`] makes the configuration of a run, [`compose`] the options of its
//! manifest, and [`objects`] the objects themselves.

mod definition;
mod delivery;
mod options;
mod schedule;

use std::time::Duration;

use plumbline_core::config::Config;
use plumbline_core::definition::DefinitionError;
use plumbline_kubernetes::chunks::ChunkError;
use plumbline_kubernetes::driver::DriverError;
use plumbline_kubernetes::manifest::{ManifestError, ManifestOptions, manifest};
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions, ServerVersion};
use serde_json::Value;

use crate::context::Context;
use crate::error::{AppError, SELECT_OTHERS};
use crate::reruns;
use crate::sources;
use crate::suite::{self, SuiteOptions};

pub use definition::{DefinitionOptions, definition_text};
pub use delivery::{BundleDelivery, check_modules};
pub use options::{Circumstances, ClusterRunOptions, Questions, RbacChoice};
pub use schedule::ScheduleOptions;
pub(crate) use schedule::not_scheduled;

/// How long the cluster may take to answer. Options can replace every answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// What is checked of the suite before a manifest is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteChecks {
    /// Nothing.
    None,
    /// That tests are selected.
    Tests,
    /// That tests are selected, and that the image is in its registry.
    TestsAndImage,
}

/// Makes the options of a manifest: applies the options of the suite and of the run to the
/// configuration and the plugins, and checks the suite.
pub async fn compose(
    context: &Context,
    run: &ClusterRunOptions,
    suite: &SuiteOptions,
    mut config: Config,
    mut circumstances: Circumstances,
    checks: SuiteChecks,
) -> Result<ManifestOptions, AppError> {
    let definitions = sources::definitions(&mut circumstances.plugins);
    suite::apply(context, suite, &mut config, definitions, circumstances.server.as_ref()).await?;
    let retries = circumstances.retries.take();
    let mut options = run.manifest_options(context, config, circumstances)?;
    options.ssh_key = suite::ssh_key(suite)?;
    if let Some(retries) = &retries {
        reruns::add_retries(retries, &mut options)?;
    }
    if checks != SuiteChecks::None && !options.config.skip_plugins {
        suite::check(context, suite, &options, checks == SuiteChecks::TestsAndImage).await?;
    }
    Ok(options)
}

/// Makes the objects of a run.
pub fn objects(options: &ManifestOptions) -> Result<Vec<Value>, AppError> {
    manifest(options).map_err(|error| {
        let failed = AppError::usage("failed to create the manifest of the run").because(&error);
        match error {
            ManifestError::NoVersion { .. } => failed.hint(
                "set it with `--kubernetes-version`, such as `v1.30.2`, or pass a cluster with `--kubeconfig`",
            ),
            ManifestError::Driver(DriverError::NoImage(_)) => {
                failed.hint("set `spec.image`, or set `spec.command` to run a program of Plumbline's own image")
            }
            ManifestError::Name(_, name, _) if name != name.to_lowercase() => {
                failed.hint(format!("use lower case: `{}`", name.to_lowercase()))
            }
            ManifestError::Definition(DefinitionError::DuplicatePlugin(_)) => failed.hint(SELECT_OTHERS),
            ManifestError::Process(_) => {
                failed.hint("leave this plugin out, or give it the driver `Job` or `DaemonSet` and an image")
            }
            ManifestError::Chunks(ChunkError::TooLarge(_)) | ManifestError::TooManyModules(_) => failed.hint(
                "let the aggregator download the bundle: push it (`plumbline plugin push`) and use `oci://…`, or bake it into the image (`plumbline plugin bake`)",
            ),
            ManifestError::ScheduleWithoutStorage => {
                failed.hint("set `--storage pvc:SIZE` or `--upload URL`")
            }
            ManifestError::KeepWithoutVolume => {
                failed.hint("set `--storage pvc:SIZE`, or leave out `--keep-runs`, `--keep-days` and `--keep-size`")
            }
            ManifestError::TooLarge { .. } | ManifestError::Chunks(ChunkError::Size(..)) => {
                failed.hint("put large files into the plugin's image")
            }
            _ => failed,
        }
    })
}

/// The answers of a cluster to [`Questions`].
#[derive(Debug, Default)]
pub struct Answers {
    /// Its version.
    pub version: Option<ServerVersion>,
    /// Whether it has roles.
    pub serves_rbac: Option<bool>,
    /// The reason why it did not answer.
    pub silence: Option<String>,
}

/// Asks the cluster for its version and its roles. Without a kubeconfig or context in `options`, a
/// cluster that does not answer is not an error.
pub async fn ask_cluster(options: &ConnectOptions) -> Result<Answers, AppError> {
    let named = options.kubeconfig.is_some() || options.context.is_some();
    match in_time(answers(options)).await {
        Ok(answers) => Ok(answers),
        Err(error) if named => Err(error.into()),
        Err(error) => Ok(Answers { silence: Some(error.to_string()), ..Answers::default() }),
    }
}

/// Waits for the answer of a cluster, for a limited time.
pub(crate) async fn in_time<T>(asked: impl Future<Output = Result<T, ClusterError>>) -> Result<T, ClusterError> {
    let late = || ClusterError::new("ask the cluster", format!("it did not respond within {} s", TIMEOUT.as_secs()));
    tokio::time::timeout(TIMEOUT, asked).await.unwrap_or_else(|_| Err(late()))
}

async fn answers(options: &ConnectOptions) -> Result<Answers, ClusterError> {
    let cluster = Cluster::connect(options).await?;
    let version = cluster.version().await?;
    Ok(Answers { version: Some(version), serves_rbac: Some(serves_rbac(&cluster).await?), silence: None })
}

/// Whether the cluster has roles.
pub async fn serves_rbac(cluster: &Cluster) -> Result<bool, ClusterError> {
    let groups = cluster.client().list_api_groups().await;
    let groups = groups.map_err(|error| ClusterError::api("ask the API server for its groups", &error))?;
    Ok(groups.groups.iter().any(|group| group.name == "rbac.authorization.k8s.io"))
}

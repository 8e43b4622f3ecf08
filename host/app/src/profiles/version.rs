//! Finds the version of a suite that the cluster decides.

use std::path::PathBuf;
use std::time::Duration;

use plumbline_bundle::profile::{Profile, Settings, Version};
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions};

use crate::error::AppError;
use crate::runtime::one_thread;

/// How long the API server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The variable with the kubeconfig of a suite that runs on this machine.
const KUBECONFIG: &str = "KUBECONFIG";

/// Sets the version in `settings` if the cluster decides it. The request goes to `cluster`, or to
/// that of the kubeconfig that the settings name. For the version of Kubernetes, a version that the
/// user names comes first.
pub(super) fn resolve(
    profile: &Profile,
    settings: &mut Settings<'_>,
    cluster: Option<&ConnectOptions>,
    kubernetes: Option<&str>,
) -> Result<(), AppError> {
    let (version, place) = match &profile.version {
        Version::Fixed(_) | Version::Option(_) => return Ok(()),
        Version::Cluster => {
            let named = kubernetes.filter(|version| version.starts_with('v')).map(|version| Ok(version.to_owned()));
            let read = async |cluster: Cluster| Ok(cluster.version().await?.image_version());
            (named.unwrap_or_else(|| ask(settings, cluster, read))?, "the version of Kubernetes".to_owned())
        }
        Version::Crd { name, annotation } => {
            let read = async |cluster: Cluster| cluster.crd_annotation(name, annotation).await;
            let place = format!("annotation `{annotation}` of custom resource definition `{name}`");
            (ask(settings, cluster, read)?, place)
        }
    };
    settings.set_cluster_version(&version).map_err(|error| {
        let hint = error.hint();
        failed(profile).cause(format!("{place} is wrong")).because(&error).hint(hint)
    })
}

/// Asks the cluster for the version.
fn ask(
    settings: &Settings<'_>,
    cluster: Option<&ConnectOptions>,
    read: impl AsyncFnOnce(Cluster) -> Result<String, ClusterError>,
) -> Result<String, AppError> {
    let options = match cluster {
        Some(options) => options.clone(),
        None => ConnectOptions { kubeconfig: settings.variable(KUBECONFIG).map(PathBuf::from), context: None },
    };
    // The timeout needs the runtime, so it is created inside of it.
    let asked = one_thread()?.block_on(async {
        let read = async { read(Cluster::connect(&options).await?).await };
        tokio::time::timeout(TIMEOUT, read).await
    });
    let failed = || failed(settings.profile());
    match asked {
        Ok(Ok(version)) => Ok(version),
        Ok(Err(error)) => Err(failed().because(&error).hint_if(error.hint.as_ref())),
        Err(_) => Err(failed()
            .cause(format!("the API server did not answer within {} s", TIMEOUT.as_secs()))
            .hint("check the network, and the server in the kubeconfig")),
    }
}

fn failed(profile: &Profile) -> AppError {
    AppError::system(format!("failed to find the version of profile `{}`", profile.name))
}

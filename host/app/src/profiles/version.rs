//! Finds the version of a suite that the cluster decides.

use std::path::PathBuf;
use std::time::Duration;

use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions};
use plumbline_profile::{Profile, Settings, Version};

use crate::error::AppError;
use crate::runtime::one_thread;

/// How long the API server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The variable with the kubeconfig of a suite that runs on this machine.
const KUBECONFIG: &str = "KUBECONFIG";

/// Sets the version in `settings` if the cluster decides it. The request goes to `cluster`, or to
/// that of the kubeconfig that the settings name.
pub(super) fn resolve(
    profile: &Profile,
    settings: &mut Settings<'_>,
    cluster: Option<&ConnectOptions>,
) -> Result<(), AppError> {
    let Version::Crd { name, annotation } = &profile.version else { return Ok(()) };
    let failed = || AppError::system(format!("failed to find the version of profile `{}`", profile.name));
    let options = match cluster {
        Some(options) => options.clone(),
        None => ConnectOptions { kubeconfig: settings.variable(KUBECONFIG).map(PathBuf::from), context: None },
    };
    // The timeout needs the runtime, so it is created inside of it.
    let asked = one_thread()?.block_on(async {
        let read = async { Cluster::connect(&options).await?.crd_annotation(name, annotation).await };
        tokio::time::timeout(TIMEOUT, read).await
    });
    let version = match asked {
        Ok(Ok(version)) => version,
        Ok(Err(error)) => return Err(because(failed(), &error)),
        Err(_) => {
            return Err(failed()
                .cause(format!("the API server did not answer within {} s", TIMEOUT.as_secs()))
                .hint("check the network, and the server in the kubeconfig"));
        }
    };
    settings.set_cluster_version(&version).map_err(|error| {
        let hint = error.hint();
        let place = format!("annotation `{annotation}` of custom resource definition `{name}` is wrong");
        failed().cause(place).because(&error).hint(hint)
    })
}

fn because(failed: AppError, error: &ClusterError) -> AppError {
    failed.because(error).hint_if(error.hint.as_ref())
}

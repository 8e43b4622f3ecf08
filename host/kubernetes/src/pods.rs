//! Lists the pods of plugins.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names::{COMPONENT_LABEL, COMPONENT_VALUE, PLUGIN, PLUGIN_LABEL, ROLE_LABEL};

/// Pods per page: the API server's own chunk size.
const PAGE: u32 = 500;

/// Returns the sorted names of the pods of all plugins in `namespace`, or of one plugin.
///
/// # Errors
/// Returns an error if the pods cannot be listed.
pub async fn plugin_pods(
    cluster: &Cluster,
    namespace: &str,
    plugin: Option<&str>,
) -> Result<Vec<String>, ClusterError> {
    let mut selector = format!("{COMPONENT_LABEL}={COMPONENT_VALUE},{ROLE_LABEL}={PLUGIN}");
    if let Some(plugin) = plugin {
        selector.push_str(&format!(",{PLUGIN_LABEL}={plugin}"));
    }
    let pods: Api<Pod> = Api::namespaced(cluster.client(), namespace);
    let mut names = Vec::new();
    let mut params = ListParams::default().labels(&selector).limit(PAGE);
    loop {
        let list = pods
            .list(&params)
            .await
            .map_err(|error| ClusterError::api(format!("list pods of plugins in namespace `{namespace}`"), &error))?;
        names.extend(list.items.into_iter().filter_map(|pod| pod.metadata.name));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

//! What the configuration means for a run in this pod.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use plumbline_aggregator::Provenance;
use plumbline_app::AppError;
use plumbline_core::PluginName;
use plumbline_core::config::Config;
use plumbline_kubernetes::dispatcher::Survey;
use plumbline_kubernetes::monitor::Graces;
use plumbline_kubernetes::query::{self, QueryOptions};
use plumbline_kubernetes::{Cluster, names};

/// SourceKind the server listens: as configured, in a pod with the address `ip`.
pub(super) fn listen(config: &Config, ip: Option<&str>) -> Result<SocketAddr, AppError> {
    let address = config.server.bind_address.parse().map_err(|error: std::net::AddrParseError| {
        AppError::usage(format!("`Server.bindaddress` is not an address: `{}`", config.server.bind_address))
            .because(&error)
    })?;
    // SourceKind pods have addresses of version 6 only, nobody could reach a server on every address of version 4; on every address of version
    // 6, a server has those of version 4 as well.
    let address = match (address, ip.and_then(|ip| ip.parse().ok())) {
        (IpAddr::V4(Ipv4Addr::UNSPECIFIED), Some(IpAddr::V6(_))) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        (address, _) => address,
    };
    Ok(SocketAddr::new(address, config.server.bind_port))
}

/// The names of the Service in front of this pod: whoever prefers names to addresses may use them.
pub(super) fn aliases(namespace: &str) -> Vec<String> {
    let service = names::AGGREGATOR_SERVICE;
    vec![
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    ]
}

/// The configuration as it stands in the archive.
pub(super) fn as_map(config: &Config) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(map)) => map,
        // A configuration that was read has a JSON form.
        _ => serde_json::Map::new(),
    }
}

/// SourceKind plugins came from, as whoever began the run has written it down.
pub(super) fn provenance(config: &Config) -> BTreeMap<PluginName, Provenance> {
    let own = &config.plumbline;
    let of = |(name, source): (&String, &String)| {
        let bundle = own.plugin_bundles.get(name).cloned();
        Some((name.parse().ok()?, Provenance { reference: Some(source.clone()), bundle, definition_file: None }))
    };
    own.plugin_sources.iter().filter_map(of).collect()
}

/// 0 stands for no limit.
pub(super) fn seconds(count: u64) -> Option<Duration> {
    (count > 0).then(|| Duration::from_secs(count))
}

/// How long what goes wrong may last.
pub(super) fn graces(config: &Config) -> Graces {
    let of = |seconds: u32| Duration::from_secs(seconds.into());
    let graces = &config.plumbline.graces;
    Graces {
        image_pull: of(graces.image_pull),
        starting: of(graces.starting),
        unschedulable: of(graces.unschedulable),
        node_gone: of(graces.node_gone),
        pod_gone: of(graces.pod_gone),
        crash_loop: of(graces.crash_loop),
        no_result: of(graces.no_result),
        hello: of(graces.hello),
        no_pod: of(graces.no_pod),
        silent: of(graces.silent),
        silent_lost: seconds(graces.silent_lost.into()),
    }
}

/// What asks the cluster about itself.
pub(super) fn survey(cluster: Cluster, config: &Config, namespace: &str, tree: PathBuf) -> Survey {
    let options = QueryOptions::from_config(config, namespace);
    Box::new(move || {
        let (cluster, options, tree) = (cluster.clone(), options.clone(), tree.clone());
        Box::pin(async move {
            let summary = query::survey(&cluster, &options, &tree).await;
            tracing::info!(queries = summary.queries, errors = summary.errors.len(), "the cluster was asked");
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_with_an_address_of_version_6_is_listened_on() {
        let mut config = Config::default();
        let at = |config: &Config, ip: Option<&str>| listen(config, ip).map(|at| at.to_string()).unwrap();
        assert_eq!(at(&config, Some("10.0.0.7")), "0.0.0.0:8080");
        assert_eq!(at(&config, None), "0.0.0.0:8080");
        assert_eq!(at(&config, Some("fd00::7")), "[::]:8080");
        config.server.bind_address = "10.0.0.7".to_owned();
        assert_eq!(at(&config, Some("fd00::7")), "10.0.0.7:8080", "what is configured counts");
        config.server.bind_address = "nowhere".to_owned();
        assert!(listen(&config, None).is_err());
    }
}

//! What the rules are for, told to a person.

use super::needs::{Needs, Queries};

/// One sentence for each permission of the mode `minimal`: what it is, and what for.
#[must_use]
pub fn why(needs: &Needs) -> Vec<String> {
    let mut told = vec![
        "reads and watches nodes: they say which results are expected, and when one is lost".to_owned(),
        "in its namespace: creates and deletes pods, DaemonSets and Secrets, for plugins and their certificates; reads pods, logs and events, to say what went wrong; writes its status"
            .to_owned(),
    ];
    match &needs.queries {
        Queries::Nothing => {}
        Queries::Everything => told.push(
            "reads every resource of Kubernetes' own groups but secrets, to record the state of the cluster; custom resources of other groups need `clusterRead`, or to be named in `Resources`"
                .to_owned(),
        ),
        Queries::Named(names) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            told.push(format!("reads what `Resources` names, in all namespaces: {}", names.join(", ")));
        }
    }
    if needs.reads_logs() {
        told.push("reads logs of pods in all namespaces, to record those that `Limits.PodLogs` selects".to_owned());
    }
    if needs.asks_nodes() {
        told.push("asks nodes for their configuration and health through the API server (`nodes/proxy`)".to_owned());
    }
    for plugin in &needs.cluster_admin {
        told.push(format!(
            "may do everything, because plugin `{plugin}` must: plugins and aggregator share one service account"
        ));
    }
    told
}

//! Determines whether a run has its archive, from its aggregator's pod and status.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use plumbline_core::GLOBAL;
use plumbline_core::run_status::{RunPhase, RunStatus, TarInfo};
use serde::Deserialize;

use super::error::{NotReady, RetrieveError};
use crate::aggregator_pod;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::exec::ExecTarget;
use crate::names::AGGREGATOR_CONTAINER;
use crate::pod_view::{Role, pod_api};
use crate::status::Waiting;

/// Maximum number of missing results to list. The rest is counted.
const MAX_NAMED: usize = 5;

/// Returns the container of the aggregator, in which commands are executed, and the value of the
/// status annotation.
///
/// # Errors
/// Returns [`NotReady::Starting`] while the pod is pending, and [`RetrieveError::Cluster`] if it
/// does not exist, has ended, or may not be read.
pub(super) async fn find(cluster: &Cluster, namespace: &str) -> Result<(ExecTarget, Option<String>), RetrieveError> {
    let Some(pod) = aggregator_pod::find(&pod_api(cluster, namespace), namespace).await? else {
        return Err(absent(cluster, namespace).await.into());
    };
    match pod.phase.as_str() {
        "Running" => {}
        "Pending" => {
            let why = Waiting::of(&pod).map_or_else(|| "it is pending".to_owned(), |waiting| waiting.words());
            return Err(NotReady::Starting(why).into());
        }
        ended => {
            let said = pod.message.as_deref().or(pod.reason.as_deref());
            let why = said.map(|text| format!(": {text}")).unwrap_or_default();
            let what = format!("read from the aggregator's pod `{}` in namespace `{namespace}`", pod.name);
            let phase = if ended.is_empty() { "Unknown" } else { ended };
            return Err(ClusterError::new(what, format!("its phase is {phase}{why}"))
                .hint("the archive can be read only while the pod runs; see how it ended with `plumbline logs`")
                .into());
        }
    }
    let container = match pod.containers.iter().find(|container| container.role == Role::Main) {
        Some(first) if pod.container(AGGREGATOR_CONTAINER).is_none() => first.name.clone(),
        _ => AGGREGATOR_CONTAINER.to_owned(),
    };
    Ok((ExecTarget { namespace: namespace.to_owned(), pod: pod.name, container }, pod.run_status))
}

async fn absent(cluster: &Cluster, namespace: &str) -> ClusterError {
    let what = format!("find the aggregator's pod in namespace `{namespace}`");
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    match namespaces.get_opt(namespace).await {
        Ok(None) => ClusterError::new(what, format!("cluster `{}` has no such namespace", cluster.name()))
            .hint("pass the run's namespace with `--namespace`, and the cluster with `--context`"),
        // The account may lack permission to see whether the namespace exists.
        _ => ClusterError::new(what, "the pod does not exist")
            .hint("check whether the run was deleted; start a new one with `plumbline run`"),
    }
}

/// An entry that represents several, in a compacted status.
#[derive(Deserialize)]
struct Folded {
    #[serde(default)]
    plugins: Option<Vec<FoldedEntry>>,
}

#[derive(Deserialize)]
struct FoldedEntry {
    #[serde(default)]
    folded: Option<u64>,
}

/// Returns the archive in a status, or why there is none yet.
///
/// For a complete run whose status does not name an archive, the result is empty.
pub(super) fn readiness(annotation: Option<&str>) -> Result<TarInfo, NotReady> {
    let text = annotation.ok_or(NotReady::NoStatus)?;
    let status: RunStatus = serde_json::from_str(text).map_err(|error| NotReady::Damaged(error.to_string()))?;
    match status.status {
        RunPhase::Complete => Ok(status.tar_info),
        RunPhase::Failed => Err(NotReady::Failed(status.failure)),
        RunPhase::PostProcessing => Err(NotReady::PostProcessing),
        _ => Err(running(&status, text)),
    }
}

fn running(status: &RunStatus, text: &str) -> NotReady {
    let folded = serde_json::from_str::<Folded>(text).ok().and_then(|folded| folded.plugins).unwrap_or_default();
    let entries = status.plugins.as_deref().unwrap_or_default();
    let (mut done, mut total, mut open, mut missing) = (0_u64, 0_u64, 0_u64, Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        let weight = folded.get(at).and_then(|entry| entry.folded).unwrap_or(1);
        total = total.saturating_add(weight);
        if entry.status.is_final() {
            done = done.saturating_add(weight);
            continue;
        }
        if missing.len() < MAX_NAMED {
            let name = if entry.node == GLOBAL {
                format!("`{}`", entry.plugin)
            } else {
                format!("`{}` from `{}`", entry.plugin, entry.node)
            };
            missing.push(plumbline_core::text::one_line(&name));
        } else {
            open = open.saturating_add(weight);
        }
    }
    let mut sentence = format!("the run continues, {done} of {total} results are in");
    if !missing.is_empty() {
        sentence += &format!("; missing: {}", missing.join(", "));
    }
    if open > 0 {
        sentence += &format!(" and {open} more");
    }
    NotReady::Running(sentence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message_of(status: serde_json::Value) -> String {
        readiness(Some(&status.to_string())).unwrap_err().to_string()
    }

    #[test]
    fn an_active_run_lists_what_it_waits_for() {
        let mut plugins = vec![
            json!({"plugin": "e2e", "node": "global", "status": "running"}),
            json!({"plugin": "logs", "node": "n1", "status": "complete"}),
            json!({"plugin": "logs", "node": "n2", "status": "failed"}),
            json!({"plugin": "logs", "node": "40 nodes", "status": "complete", "folded": 40}),
        ];
        assert_eq!(
            message_of(json!({"status": "running", "plugins": plugins})),
            "the run continues, 42 of 43 results are in; missing: `e2e`"
        );
        plugins.extend((0..9).map(|n| json!({"plugin": "x", "node": format!("n{n}"), "status": "running"})));
        assert_eq!(
            message_of(json!({"status": "running", "plugins": plugins})),
            "the run continues, 42 of 52 results are in; missing: `e2e`, `x` from `n0`, `x` from `n1`, `x` from `n2`, `x` from `n3` and 5 more"
        );
    }

    #[test]
    fn every_state_without_an_archive_has_its_sentence() {
        assert_eq!(readiness(None), Err(NotReady::NoStatus));
        assert!(matches!(readiness(Some("{")), Err(NotReady::Damaged(_))));
        assert_eq!(
            message_of(json!({"status": "running", "plugins": null})),
            "the run continues, 0 of 0 results are in"
        );
        assert_eq!(readiness(Some(r#"{"status":"failed"}"#)), Err(NotReady::Failed(None)));
        let failure = json!({"reason": "the disk is full", "hint": "make room"});
        assert_eq!(message_of(json!({"status": "failed", "failure": failure})), "the run failed: the disk is full");
        let hint = readiness(Some(&json!({"status": "failed", "failure": failure}).to_string())).unwrap_err().hint();
        assert!(hint.starts_with("make room\n"), "{hint}");
        assert_eq!(readiness(Some(r#"{"status":"post-processing"}"#)), Err(NotReady::PostProcessing));
        // An unknown phase does not count as an end.
        assert!(matches!(readiness(Some(r#"{"status":"resting"}"#)), Err(NotReady::Running(_))));
        assert!(!NotReady::Failed(None).may_change() && NotReady::NoStatus.may_change());
    }

    #[test]
    fn a_complete_run_names_its_archive() {
        let status = json!({"status": "complete", "tar-info": {"name": "a.tar.gz", "sha256": "00", "size": 5}});
        assert_eq!(readiness(Some(&status.to_string())).unwrap().name, "a.tar.gz");
        assert_eq!(readiness(Some(r#"{"status":"complete"}"#)).unwrap(), TarInfo::default());
    }
}

//! The status of a run in a cluster as data.

use jiff::Timestamp;
use plumbline_core::run_status::{PluginStatus, RunStatus};
use plumbline_core::{ProgressUpdate, Verdict};
use plumbline_kubernetes::status::Seen;
use serde_json::{Value, json};

/// Returns the status of a run in a cluster as data. `status` is the full status if it was requested.
/// Keys are never removed or renamed (docs/output.md).
pub fn run_document(cluster: &str, seen: &Seen, status: &RunStatus, now: Timestamp) -> Value {
    let verdict = seen.is_over().then(|| Verdict::from_run(&seen.status));
    let tar = &seen.status.tar_info;
    let mut document = json!({
        "run": status.run,
        "cluster": cluster,
        "namespace": seen.namespace,
        "pod": seen.pod,
        "started": seen.began,
        "status": seen.status.status,
        "interrupted": seen.status.interrupted,
        "failure": seen.status.failure,
        "verdict": verdict.map(Verdict::as_str),
        "exit-code": verdict.map(Verdict::exit_code),
        "heartbeat": seen.status.heartbeat,
        "lost": seen.silent_for(now).is_some(),
        "restarts": seen.restarts,
        "compacted": status.compacted,
        "archive": (!tar.name.is_empty()).then(|| json!({
            "name": tar.name, "created": tar.created, "sha256": tar.sha256, "size": tar.size,
        })),
        "delivery": seen.status.delivery,
        "skipped": seen.status.skipped,
        "plugins": status.plugins.iter().flatten().map(plugin).collect::<Vec<_>>(),
        "waiting": seen.waiting,
    });
    if let Some(fields) = document.as_object_mut() {
        let verdicts = status.verdicts.as_ref().map(|verdicts| ("verdicts".to_owned(), json!(verdicts)));
        fields.extend(verdicts);
        let totals = (!status.totals.is_empty()).then(|| ("totals".to_owned(), json!(status.totals)));
        fields.extend(totals);
    }
    document
}

fn plugin(entry: &PluginStatus) -> Value {
    json!({
        "plugin": entry.plugin,
        "node": entry.node,
        "results": entry.count(),
        "status": entry.status,
        "result": entry.result_status,
        "counts": entry.result_counts,
        "last-heartbeat": entry.last_heartbeat,
        "reason": entry.reason,
        "progress": entry.progress.as_deref().map(progress),
    })
}

/// Returns progress with clear names. In the protocol, `completed` excludes failures and includes
/// skipped tests.
fn progress(progress: &ProgressUpdate) -> Value {
    json!({
        "passed-or-skipped": progress.completed,
        "failed": progress.failed(),
        "total": (progress.total > 0).then_some(progress.total),
        "remaining": (progress.total > 0).then(|| progress.remaining()).flatten(),
        "message": progress.msg,
        "at": progress.timestamp,
        "failures": progress.failures,
    })
}

#[cfg(test)]
mod tests {
    use plumbline_kubernetes::status::Waiting;

    use super::*;

    #[test]
    fn the_document_has_its_keys() {
        let status: RunStatus = serde_json::from_value(json!({
            "status": "complete", "run": "7f3a9c00-0000-4000-8000-000000000000", "heartbeat": "2026-11-20T13:00:00Z",
            "delivery": "s3://audits/nightly/x.tar.gz",
            "tar-info": {"name": "x.tar.gz", "created": "2026-11-20T13:00:00Z", "sha256": "00", "size": 7},
            "plugins": [{"plugin": "e2e", "node": "global", "status": "complete", "result-status": "failed",
                "result-counts": {"failed": 1}, "progress": {"timestamp": "2026-11-20T12:40:00Z", "total": 7, "completed": 6,
                "failures": ["a"], "msg": "done"}}],
        }))
        .unwrap();
        let waiting = Waiting {
            pod: "p".to_owned(),
            plugin: Some("bench".to_owned()),
            node: None,
            reason: "Unschedulable".to_owned(),
            message: "0/3".to_owned(),
            image: None,
            since: None,
        };
        let seen = Seen {
            namespace: "checks".to_owned(),
            pod: "sonobuoy".to_owned(),
            status: status.clone(),
            began: None,
            restarts: 0,
            waiting: vec![waiting],
        };
        let document = run_document("kind-prod", &seen, &status, "2026-11-20T13:00:00Z".parse().unwrap());
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}

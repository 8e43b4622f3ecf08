use plumbline_dev::ApiDouble;

use super::*;
use crate::cluster::tests::cluster;

const JOB: &str = "plumbline-schedule-29700000";

fn own() -> ScheduledPod {
    ScheduledPod { namespace: "ns".into(), name: "own".into(), uid: "u-own".into(), job: JOB.into() }
}

fn aggregator(name: &str, job: Option<&str>, phase: &str) -> Value {
    let mut labels = json!({"component": "sonobuoy", "sonobuoy-component": "aggregator"});
    if let Some(job) = job {
        labels[names::JOB_LABEL] = json!(job);
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}"), "labels": labels},
        "spec": {"containers": [{"name": "c"}]}, "status": {"phase": phase},
    })
}

fn plugin(kind: &str, name: &str, session: &str, owner: (&str, &str)) -> Value {
    let template = json!({"metadata": {"labels": {"sonobuoy-run": session}}, "spec": {"containers": [{"name": "c"}]}});
    let spec = match kind {
        "DaemonSet" => json!({"selector": {"matchLabels": {"sonobuoy-run": session}}, "template": template}),
        _ => json!({"containers": [{"name": "c"}]}),
    };
    json!({
        "apiVersion": if kind == "Pod" { "v1" } else { "apps/v1" }, "kind": kind,
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("u-{name}"),
            "labels": {"component": "sonobuoy", "sonobuoy-component": "plugin", "sonobuoy-run": session},
            "ownerReferences": [{"apiVersion": "v1", "kind": owner.0, "name": owner.1, "uid": format!("u-{}", owner.1)}],
        },
        "spec": spec, "status": {"phase": "Running"},
    })
}

#[tokio::test]
async fn a_run_does_not_start_while_another_is_active() {
    // A pod that has not started yet will look for others too late, or see this one and not start.
    for (job, phase, active) in [
        (Some("plumbline-schedule-1"), "Running", true),
        (Some("plumbline-schedule-1"), "Pending", true),
        (Some("plumbline-schedule-1"), "Unknown", true),
        (Some("plumbline-schedule-1"), "Failed", false),
        (None, "Running", true),
        (None, "Succeeded", false),
    ] {
        let double = ApiDouble::start().await.unwrap();
        double.put("pods", aggregator("own", Some(JOB), "Running"));
        double.put("pods", aggregator("other", job, phase));
        let cleared = clear(&cluster(&double).await, &own()).await;
        match cleared {
            Err(OverlapError::Active { pod, .. }) => assert!(active && pod == "other", "{job:?} {phase}"),
            other => assert!(!active && other.is_ok(), "{job:?} {phase}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_unknown_state_of_the_cluster_starts_no_run() {
    let double = ApiDouble::start().await.unwrap();
    double.deny("list", "daemonsets");
    let cleared = clear(&cluster(&double).await, &own()).await;
    assert!(matches!(cleared, Err(OverlapError::Cluster(_))), "{cleared:?}");
}

#[test]
fn objects_of_earlier_runs_are_removed_and_those_of_this_run_are_kept() {
    let pods: Vec<Found> = [
        aggregator("own", Some(JOB), "Running"),
        // An earlier pod of the same Job: its run continues here.
        aggregator("killed", Some(JOB), "Failed"),
        aggregator("old", Some("plumbline-schedule-1"), "Failed"),
        plugin("Pod", "mine", "s1", ("Pod", "own")),
        plugin("Pod", "continued", "s2", ("Pod", "killed")),
        plugin("Pod", "left", "s3", ("Pod", "old")),
        plugin("Pod", "node-mine", "s4", ("DaemonSet", "set-mine")),
        plugin("Pod", "node-left", "s5", ("DaemonSet", "set-left")),
    ]
    .iter()
    .map(Found::read)
    .collect();
    let sets: Vec<Found> = [
        plugin("DaemonSet", "set-mine", "s4", ("Pod", "killed")),
        plugin("DaemonSet", "set-left", "s5", ("Pod", "gone")),
    ]
    .iter()
    .map(Found::read)
    .collect();
    let names: Vec<String> = remains(&own(), &pods, &sets).iter().map(|(_, found)| found.name.clone()).collect();
    assert_eq!(names, ["set-left", "left", "node-left"]);
}

#[tokio::test]
async fn pods_of_an_earlier_run_are_deleted_first() {
    let double = ApiDouble::start().await.unwrap();
    double.put("pods", aggregator("own", Some(JOB), "Running"));
    double.put("pods", plugin("Pod", "left", "s3", ("Pod", "gone")));
    clear(&cluster(&double).await, &own()).await.unwrap();
    let deleted: Vec<String> = double
        .requests()
        .into_iter()
        .filter(|request| request.method == "DELETE")
        .map(|request| request.path)
        .collect();
    assert_eq!(deleted, ["/api/v1/namespaces/ns/pods/left"]);
}

#[tokio::test]
async fn each_run_learns_the_time_of_the_one_before() {
    let double = ApiDouble::start().await.unwrap();
    let cluster = cluster(&double).await;
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let (first, second) = (time("2026-11-24T03:00:00Z"), time("2026-11-25T03:00:00Z"));
    assert_eq!(record(&cluster, "ns", first).await.unwrap(), None);
    assert_eq!(record(&cluster, "ns", second).await.unwrap(), Some(first));
    assert_eq!(record(&cluster, "ns", second).await.unwrap(), Some(first), "the run continues in another pod");
}

#[test]
fn only_a_job_of_the_schedule_has_a_time() {
    let now: Timestamp = "2026-11-25T03:00:30Z".parse().unwrap();
    let minute = now.as_second() / 60;
    let of = |job: &str| time_of_job(job, now).map(|time| time.to_string());
    assert_eq!(of(&format!("plumbline-schedule-{minute}")).as_deref(), Some("2026-11-25T03:00:00Z"));
    for job in ["plumbline-schedule-x", "plumbline-schedule-", "by-hand", "plumbline-schedule-99999999999999999999"] {
        assert_eq!(of(job), None, "{job}");
    }
    assert_eq!(of(&format!("plumbline-schedule-{}", minute + 60)), None, "the time is in the future");
}

//! Scheduled runs: the manifest of a schedule, and the aggregator in the pods of its Jobs.

use std::fs;
use std::process::Command;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::aggregator_role::Pod;
use crate::bed::{Bed, Done};
use crate::generate::{documents, of_kind};

const SCHEDULE: [&str; 7] = ["gen", "-p", "host-facts", "--schedule", "0 3 * * *", "--kubernetes-version", "v1.37.2"];

fn printed(bed: &Bed, more: &[&str]) -> Done {
    bed.plumbline(&[&SCHEDULE, more].concat())
}

#[test]
fn a_schedule_is_a_cron_job_whose_pods_are_aggregators() {
    let bed = Bed::new();
    let more = ["--storage", "pvc:5Gi", "--keep-runs", "30", "--time-zone", "europe/paris"];
    let done = printed(&bed, &more).expect(0);
    assert!(done.err.contains("schedule `0 3 * * *` in the time zone Europe/Paris; next runs: 2"), "{}", done.err);
    let objects = documents(&done.out);
    assert!(of_kind(&objects, "Pod").is_empty(), "no run starts at once");
    let job = of_kind(&objects, "CronJob")[0];
    insta::assert_snapshot!("cron_job", serde_json::to_string_pretty(&without_pod(job)).unwrap());
    // Apart from how it ends, the pod is that of a run that starts at once.
    let pod =
        of_kind(&documents(&bed.plumbline(&["gen", "-p", "host-facts", "--storage", "pvc:5Gi"]).expect(0).out), "Pod")
            [0]
        .clone();
    let scheduled = &job["spec"]["jobTemplate"]["spec"]["template"];
    assert_eq!(scheduled["metadata"]["labels"], pod["metadata"]["labels"]);
    assert_eq!(scheduled["spec"]["volumes"], pod["spec"]["volumes"]);
    assert_eq!(
        (&scheduled["spec"]["restartPolicy"], &pod["spec"]["restartPolicy"]),
        (&json!("Never"), &json!("OnFailure"))
    );
    assert!(!scheduled["spec"]["containers"][0]["args"].to_string().contains("--no-exit"));
    let env = scheduled["spec"]["containers"][0]["env"].to_string();
    assert!(env.contains("PLUMBLINE_JOB_UID") && env.contains("metadata.labels['batch.kubernetes.io/controller-uid']"));

    let config = objects.iter().find(|object| object["metadata"]["name"] == "sonobuoy-config-cm").unwrap();
    let config: Value = serde_json::from_str(config["data"]["config.json"].as_str().unwrap()).unwrap();
    let own = &config["Plumbline"];
    assert_eq!(own["Schedule"], json!({"Cron": "0 3 * * *", "TimeZone": "Europe/Paris", "KeepRuns": 30}));
    assert_eq!(own["DeadlineSeconds"], 86_400, "a run without an end would prevent all others");
    let role = of_kind(&objects, "Role")[0].to_string();
    assert!(role.contains(r#""resourceNames":["plumbline-schedule"]"#) && !role.contains("cronjobs"), "{role}");
}

fn without_pod(job: &Value) -> Value {
    let mut job = job.clone();
    job["spec"]["jobTemplate"]["spec"]["template"]["spec"] = json!("…");
    job
}

#[test]
fn an_invalid_schedule_of_runs_is_rejected_with_the_reason() {
    let bed = Bed::new();
    for (more, why) in [
        (&[][..], "the archive of a scheduled run is lost with its pod"),
        (&["--upload", "s3://bucket", "--keep-runs", "3"], "limits for the archives of scheduled runs need a volume"),
        (&["--storage", "pvc:1Gi", "--time-zone", "Mars/Olympus"], "unknown time zone `Mars/Olympus`"),
    ] {
        let done = printed(&bed, more).expect(2);
        assert!(done.err.contains(why), "{}", done.err);
    }
    printed(&bed, &["--upload", "s3://bucket"]).expect(0);
    let done = bed.plumbline(&["gen", "-p", "host-facts", "--storage", "pvc:1Gi", "--schedule", "0 3 * *"]).expect(2);
    assert!(done.err.contains("it has 4 fields"), "{}", done.err);
    bed.plumbline(&["gen", "-p", "host-facts", "--keep-runs", "3"]).expect(2);
    bed.write("config.json", r#"{"Plumbline": {"Schedule": {"Cron": "0 3 * * *"}, "Storage": "pvc:1Gi"}}"#);
    let done = bed.plumbline(&["run", "-p", "host-facts", "--config", "config.json"]).expect(2);
    assert!(done.err.contains("the configuration has the schedule `0 3 * * *`"), "{}", done.err);
}

/// A pod of a Job, with a schedule of a minute.
fn scheduled_pod() -> Pod {
    let pod = Pod::advertising("", &json!({"Storage": "pvc:1Gi", "Schedule": {"Cron": "* * * * *", "KeepRuns": 1}}));
    pod.double.update("pods", "checks", "sonobuoy", |pod| {
        pod["metadata"]["labels"] = json!({"component": "sonobuoy", "sonobuoy-component": "aggregator"});
    });
    fs::remove_file(pod.bed.path("plugins.d/smoke.yaml")).unwrap();
    pod
}

/// The name of the Job that starts this many minutes ago.
fn job(minutes: i64) -> String {
    format!("plumbline-schedule-{}", Timestamp::now().as_second() / 60 - minutes)
}

/// Runs the aggregator as in the pod of a Job that has this name, whose CronJob passes no UID.
fn aggregate(pod: &Pod, job: &str) -> Done {
    aggregate_in(pod, job, "")
}

/// Runs the aggregator as in the pod of a Job with this name and UID.
fn aggregate_in(pod: &Pod, job: &str, uid: &str) -> Done {
    let mut command: Command = pod.bed.command(&["aggregator", "--dir", "out", "--kubeconfig", "kubeconfig"]);
    command.env("SONOBUOY_NAMESPACE", "checks").env("SONOBUOY_POD", "sonobuoy");
    command.env("PLUMBLINE_JOB", job).env("PLUMBLINE_JOB_UID", uid);
    Done::of(command)
}

#[test]
fn a_later_job_of_the_same_name_starts_a_run_of_its_own() {
    let pod = scheduled_pod();
    let uids = ["5f0c5a52-2c0c-4f8e-8f0e-7c1f6a2d3b4e", "0b9d2b5e-0c40-4b6b-9d5a-0a1f4f2a7c11"];
    aggregate_in(&pod, "by-hand", uids[0]).expect(5);
    let first = pod.bed.archive();
    // Another pod of the same Job finds that the run has finished.
    let again = aggregate_in(&pod, "by-hand", uids[0]).expect(5);
    assert!(again.err.contains("the run had finished before this container restarted"), "{}", again.err);
    assert_eq!(pod.bed.archive(), first);
    // The user has deleted the Job, and starts another one.
    let other = aggregate_in(&pod, "by-hand", uids[1]).expect(5);
    assert!(!other.err.contains("the run had finished before"), "{}", other.err);
    assert_ne!(pod.bed.archive(), first, "only the newest archive is kept");
    let homes: Vec<bool> = uids.iter().map(|uid| pod.bed.path(&format!("out/run-by-hand-{uid}")).exists()).collect();
    assert_eq!(homes, [false, true], "nothing continues the first run");
    let done = aggregate_in(&pod, "by-hand", "../elsewhere").expect(2);
    assert!(done.err.contains("`PLUMBLINE_JOB_UID` is not the UID of a Job"), "{}", done.err);
}

#[test]
fn each_run_has_its_own_archive_and_names_the_runs_that_were_missed() {
    let pod = scheduled_pod();
    // Without plugins, there is nothing to judge, and so nothing that passed.
    aggregate(&pod, &job(4)).expect(5);
    let first = pod.bed.archive();
    let done = aggregate(&pod, &job(0)).expect(5);
    assert!(done.err.contains("3 scheduled runs were missed since the last one"), "{}", done.err);
    let archives: Vec<String> = pod.bed.archives().iter().map(|path| path.display().to_string()).collect();
    assert!(archives.len() == 1 && archives != [first], "only the newest archive is kept: {archives:?}");
    let info: Value = serde_json::from_str(&pod.bed.member("meta/info.json")).unwrap();
    assert_eq!((&info["schedule"]["missed"], &info["schedule"]["cron"]), (&json!(3), &json!("* * * * *")), "{info}");
    let event = pod.double.list("events").into_iter().find(|event| event["reason"] == "ScheduledRunsMissed").unwrap();
    assert_eq!((&event["type"], &event["involvedObject"]["name"]), (&json!("Warning"), &json!("sonobuoy")), "{event}");
    // The same Job in another pod, after the archive was written: nothing runs again.
    let again = aggregate(&pod, &job(0));
    assert!(again.code != 5 || pod.bed.archives().len() == 1, "{}", again.err);
    let shown = pod.bed.plumbline(&["history", "out"]);
    assert!(shown.out.contains("3 scheduled runs were missed"), "{}{}", shown.out, shown.err);
}

#[test]
fn a_run_that_would_overlap_another_one_does_not_start() {
    let pod = scheduled_pod();
    pod.double.put(
        "pods",
        json!({
            "metadata": {"name": "by-hand", "namespace": "checks",
                "labels": {"component": "sonobuoy", "sonobuoy-component": "aggregator"}},
            "spec": {"containers": [{"name": "kube-sonobuoy", "image": "r/plumbline:1"}]},
            "status": {"phase": "Running"},
        }),
    );
    let done = aggregate(&pod, &job(1)).expect(4);
    assert!(done.err.contains("another run is active in namespace `checks`: pod `by-hand`"), "{}", done.err);
    assert!(pod.bed.archives().is_empty());
    assert_eq!(pod.double.get("configmaps", "checks", "plumbline-schedule"), None, "it does not count as a run");
    let own = pod.double.get("pods", "checks", "sonobuoy").unwrap();
    let status = own["metadata"]["annotations"]["sonobuoy.hept.io/status"].as_str().unwrap();
    assert!(status.contains("another run is active"), "{status}");

    pod.double.update("pods", "checks", "by-hand", |pod| pod["status"]["phase"] = json!("Succeeded"));
    aggregate(&pod, &job(0)).expect(5);
}

#[test]
fn a_scheduled_run_needs_the_name_of_its_job() {
    let pod = scheduled_pod();
    for name in ["", "../elsewhere", "UPPER"] {
        let done = aggregate(&pod, name).expect(2);
        assert!(done.err.contains("PLUMBLINE_JOB"), "{}", done.err);
    }
    // A user started this Job, so it has no time in the schedule.
    aggregate(&pod, "by-hand").expect(5);
}

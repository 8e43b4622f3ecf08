//! Tests of scheduled runs.

use std::fs;

use futures_util::TryStreamExt as _;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;

use crate::bed::{Bed, phase};
use crate::place::NodeAccess;
use crate::plugin::Plugin;
use crate::settings::loudly;
use crate::sink::Sink;
use crate::volume::{Volume, has_kubectl, kubectl};

/// The name of the CronJob of a schedule, and the start of the names of its Jobs.
pub(crate) const SCHEDULE: &str = "plumbline-schedule";

/// Waits for a Job of the schedule other than `known`, and returns its name.
pub(crate) fn next_job(bed: &Bed, known: Option<&str>) -> String {
    bed.ask(async {
        let mut jobs = Box::pin(watcher(bed.api::<Job>(), watcher::Config::default()).applied_objects());
        while let Some(job) = jobs.try_next().await? {
            let name = job.metadata.name.unwrap_or_default();
            if name.starts_with(SCHEDULE) && Some(name.as_str()) != known {
                return Ok(name);
            }
        }
        Ok::<_, watcher::Error>(String::new())
    })
}

/// Waits until a Job has ended, and returns whether it succeeded.
pub(crate) fn outcome(bed: &Bed, job: &str) -> bool {
    let has = |job: Option<&Job>, kind: &str| {
        let conditions = job.and_then(|job| job.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|one| one.type_ == kind && one.status == "True")
    };
    let is_over = |job: Option<&Job>| has(job, "Complete") || has(job, "Failed");
    let ended = bed.ask(await_condition(bed.api::<Job>(), job, is_over));
    has(ended.as_ref(), "Complete")
}

/// Returns the pod of a Job, which stays with its log.
fn pod_of(bed: &Bed, job: &str) -> Pod {
    let selector = format!("batch.kubernetes.io/job-name={job}");
    let pods = bed.ask(bed.api::<Pod>().list(&ListParams::default().labels(&selector)));
    assert_eq!(pods.items.len(), 1, "{job}");
    pods.items.into_iter().next().unwrap()
}

/// Returns when the aggregator of a Job ran.
fn span(bed: &Bed, job: &str) -> (Timestamp, Timestamp) {
    let status = pod_of(bed, job).status.unwrap().container_statuses.unwrap().remove(0);
    let ended = status.state.unwrap().terminated.unwrap();
    (ended.started_at.unwrap().0, ended.finished_at.unwrap().0)
}

#[test]
fn runs_start_by_themselves_one_after_another_and_old_archives_go() {
    let Some(bed) = Bed::new("schedule") else { return };
    let Some(places) = NodeAccess::of(&bed, "schedule") else { return };
    if !has_kubectl("schedule") {
        return;
    }
    let volume = Volume::new(&bed, &places);
    let sink = Sink::start(&bed);
    apply(&bed, sink.as_ref());

    // A Job that a user starts meanwhile does not overlap the run.
    let first = next_job(&bed, None);
    wait_for_plugin(&bed);
    let running = pod_of(&bed, &first).metadata.name.unwrap();
    kubectl(&bed, &["create", "job", "by-hand", "--from=cronjob/plumbline-schedule", "-n", bed.namespace()]);
    assert!(!outcome(&bed, "by-hand"));
    let refused = pod_of(&bed, "by-hand").metadata.name.unwrap();
    let log = bed.logs(&refused, "kube-sonobuoy");
    assert!(
        log.contains(&format!("another run is active in namespace `{}`: pod `{running}`", bed.namespace())),
        "{log}"
    );
    assert!(outcome(&bed, &first), "the exit code is that of the verdict, which the list decides");
    let of_first = archive(&volume);

    // As if the last run were an hour ago.
    let hour = SignedDuration::from_hours(1);
    let last = json!({"data": {"last": (Timestamp::now() - hour).to_string()}});
    bed.ask(bed.api::<ConfigMap>().patch(SCHEDULE, &PatchParams::default(), &Patch::Merge(last)));
    let second = next_job(&bed, Some(&first));
    let suspended = json!({"spec": {"suspend": true}});
    bed.ask(bed.api::<CronJob>().patch(SCHEDULE, &PatchParams::default(), &Patch::Merge(suspended)));
    assert!(outcome(&bed, &second));

    let ((_, first_end), (second_start, _)) = (span(&bed, &first), span(&bed, &second));
    assert!(first_end <= second_start, "{first_end} {second_start}");
    let of_second = archive(&volume);
    assert_ne!(of_first, of_second, "the archive of the first run is gone");
    match &sink {
        Some(sink) => assert_uploaded(sink, &[of_first, of_second]),
        None => loudly("schedule: without an upload, because pods cannot reach this machine"),
    }
    let plugins = bed.ask(bed.api::<Pod>().list(&ListParams::default().labels("sonobuoy-component=plugin")));
    assert!(plugins.items.iter().all(|pod| phase(pod) != "Running"), "no pod of a plugin outlives its run");
    let missed = bed.ask(bed.api::<Event>().list(&ListParams::default().fields("reason=ScheduledRunsMissed")));
    let message = missed.items[0].message.clone().unwrap();
    assert!(message.contains("scheduled runs were missed since the last one"), "{message}");
    let doctor = bed.command("doctor", &["-o", "json"]);
    assert!(doctor.out.contains("it is suspended, so no run starts"), "{}", doctor.out);
    bed.command("status", &[]).expect(0);

    bed.command("delete", &["--wait", "--yes"]).expect(0);
    drop(volume);
}

/// Creates a schedule of a minute. An item of its plugin fails, which a list excuses, and archives go
/// to the volume and to `sink`.
fn apply(bed: &Bed, sink: Option<&Sink>) {
    let plugins = [Plugin::job("slow").args(&["--after=20s", "--outcome=fail", "--items=3"])];
    fs::write(bed.path("known.yaml"), "- {test: item-0000003, reason: it always fails}\n").unwrap();
    let storage = format!("pvc:1Gi:{}", bed.namespace());
    let url = sink.map(|sink| format!("http://{}/scheduled/", sink.address));
    let schedule = ["--schedule", "* * * * *", "--keep-runs", "1", "--storage", &storage];
    let mut more = [&schedule[..], &["--known-failures", "known.yaml"]].concat();
    if let Some(url) = &url {
        more.extend(["--upload", url.as_str()]);
    }
    let manifest = bed.with_plugins("gen", &plugins, &more).expect(0);
    fs::write(bed.path("schedule.yaml"), &manifest.out).unwrap();
    kubectl(bed, &["apply", "-f", "schedule.yaml"]);
}

/// Fails unless these archives were uploaded, each once. The first request was refused.
fn assert_uploaded(sink: &Sink, archives: &[String; 2]) {
    let lines: Vec<String> = sink.taken().into_iter().map(|one| one.line).collect();
    let [first, second] = archives.each_ref().map(|archive| format!("PUT /scheduled/{archive} HTTP/1.1"));
    assert_eq!(lines, [first.clone(), first, second]);
}

/// Waits until a run has started a plugin.
fn wait_for_plugin(bed: &Bed) {
    let selector = watcher::Config::default().labels("sonobuoy-component=plugin");
    bed.ask(async {
        let mut pods = Box::pin(watcher(bed.api::<Pod>(), selector).applied_objects());
        pods.try_next().await
    });
}

/// Returns the only archive on a volume.
fn archive(volume: &Volume<'_>) -> String {
    let files = volume.files();
    let mut archives = files.iter().filter(|name| name.ends_with(".tar.gz"));
    let (Some(archive), None) = (archives.next(), archives.next()) else { panic!("{files:?}") };
    archive.clone()
}

//! The CronJob of scheduled runs. Its pods are aggregators.

use std::time::Duration;

use plumbline_core::Config;
use plumbline_core::config::Storage;
use plumbline_core::schedule::Schedule;
use serde_json::{Value, json};

use super::error::ManifestError;
use crate::names;
use crate::parts::{labels, object, put, without_nulls};

/// How late a run may start, in seconds. A later one is missed, and the next run reports it.
const STARTING_DEADLINE: u64 = 600;

/// The default deadline of a run in seconds: a day. A run without an end would prevent all others.
const RUN_DEADLINE: u64 = 24 * 3600;

/// How long the start of an aggregator waits in total for an API server or a registry that does not
/// answer. The deadline of its run starts after that.
pub const START_PATIENCE: Duration = Duration::from_secs(3600);

/// How much longer a Job may take than the start and its run, in seconds. Kubernetes removes the pod of
/// a Job that takes longer, with its log, so this only ends pods that never start or no longer react.
const JOB_MARGIN: u64 = 3600;

/// How often a Job starts another pod if the run can continue on its volume.
const RETRIES: u32 = 6;

/// The finished and the failed Jobs that stay, each with its pod and its log.
const HISTORY: u32 = 3;

/// The exit codes of an aggregator that was stopped by a signal (128 and its number): SIGKILL and
/// SIGTERM. Another pod continues the run. Any other code is the outcome of the run.
const STOPPED: [u8; 2] = [137, 143];

/// Checks that the archives of a scheduled run are kept somewhere.
pub(super) fn check(config: &Config) -> Result<(), ManifestError> {
    let Some(schedule) = &config.plumbline.schedule else { return Ok(()) };
    if config.plumbline.storage != Storage::Pod {
        return Ok(());
    }
    if schedule.keep.any() {
        return Err(ManifestError::KeepWithoutVolume);
    }
    if config.plumbline.upload_url.is_empty() { Err(ManifestError::ScheduleWithoutStorage) } else { Ok(()) }
}

/// Returns the configuration of a scheduled run, which has a deadline.
pub(super) fn with_deadline(config: &Config) -> Config {
    let mut config = config.clone();
    let own = &mut config.plumbline;
    if own.schedule.is_some() && own.deadline_seconds == 0 {
        own.deadline_seconds = RUN_DEADLINE;
    }
    config
}

/// Returns a CronJob whose pods are like `pod`, the aggregator's.
pub(super) fn cron_job(config: &Config, schedule: &Schedule, pod: &Value) -> Value {
    let part = |pointer: &str| pod.pointer(pointer).cloned().unwrap_or_default();
    let metadata = json!({"labels": part("/metadata/labels"), "annotations": part("/metadata/annotations")});
    let mut spec = part("/spec");
    // A failed pod stays with its log. With another policy, Kubernetes removes it.
    put(&mut spec, "restartPolicy", json!("Never"));
    let continues = config.plumbline.storage != Storage::Pod;
    let job = json!({
        "activeDeadlineSeconds": config.plumbline.deadline_seconds.saturating_add(START_PATIENCE.as_secs() + JOB_MARGIN),
        "backoffLimit": if continues { RETRIES } else { 0 },
        "podFailurePolicy": {"rules": [{
            "action": "FailJob",
            "onExitCodes": {"containerName": names::AGGREGATOR_CONTAINER, "operator": "NotIn", "values": STOPPED},
        }]},
        // The next pod starts when the one before has ended, and not when it is about to end.
        "podReplacementPolicy": "Failed",
        "template": {"metadata": without_nulls(metadata), "spec": spec},
    });
    let spec = json!({
        "schedule": schedule.cron,
        "timeZone": schedule.zone,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": STARTING_DEADLINE,
        "successfulJobsHistoryLimit": HISTORY,
        "failedJobsHistoryLimit": HISTORY,
        "jobTemplate": {"metadata": {"labels": labels()}, "spec": job},
    });
    object(&config.namespace, "batch/v1", "CronJob", names::SCHEDULE, json!({"spec": spec}))
}

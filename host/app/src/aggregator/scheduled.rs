//! A run that a schedule started: its place on the volume, its order among other runs, and what
//! happens to archives of earlier ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::config::Config;
use plumbline_core::run_status::RunStatus;
use plumbline_core::schedule::{MissedRuns, Schedule};
use plumbline_core::text::listed;
use plumbline_kubernetes::schedule::{self, OverlapError, ScheduledPod};
use plumbline_kubernetes::{Cluster, names};
use serde_json::{Value, json};

use crate::aggregator::delay::StartWait;
use crate::aggregator::start::{Pod, var};
use crate::context::Context;
use crate::error::AppError;
use crate::history::Retention;

/// The name prefix of the directories of scheduled runs. Each has the working directory of one run,
/// next to the archives.
const PREFIX: &str = "run-";

/// The extension of an archive that was not completed. Its name starts with a dot.
const PART: &str = ".part";

const MAX_NAMED: usize = 5;

/// Pause between attempts to look for other runs.
const PAUSE: Duration = Duration::from_secs(10);

/// The directories of an aggregator.
#[derive(Debug, Clone)]
pub(super) struct Directories {
    /// The directory of this run.
    pub(super) home: PathBuf,
    /// The directory of archives.
    pub(super) archives: PathBuf,
}

impl Directories {
    /// The directories of a run. Scheduled runs share a volume with other runs.
    pub(super) fn of(dir: &Path, scheduled: Option<&Scheduled>) -> Self {
        let home = scheduled.map_or_else(|| dir.to_owned(), |one| dir.join(one.directory()));
        Self { home, archives: dir.to_owned() }
    }
}

/// What a schedule adds to a run.
#[derive(Debug, Clone)]
pub(super) struct Scheduled {
    schedule: Schedule,
    job: String,
    /// The UID of the Job. CronJobs of earlier versions do not pass it.
    uid: Option<String>,
}

impl Scheduled {
    /// The schedule of this run, if it has one.
    pub(super) fn of(config: &Config) -> Result<Option<Self>, AppError> {
        let Some(schedule) = &config.plumbline.schedule else { return Ok(None) };
        let failed = |why: String| {
            AppError::usage(why).hint("create the CronJob with `plumbline gen --schedule`, which sets this variable")
        };
        let job = var(names::JOB_VARIABLE).ok_or_else(|| {
            failed(format!("the run has a schedule, but `{}` does not name its Job", names::JOB_VARIABLE))
        })?;
        if !is_label(&job) {
            return Err(failed(format!("`{}` is not the name of a Job: `{job}`", names::JOB_VARIABLE)));
        }
        let uid = var(names::JOB_UID_VARIABLE);
        if let Some(uid) = uid.as_ref().filter(|uid| !is_label(uid)) {
            return Err(failed(format!("`{}` is not the UID of a Job: `{uid}`", names::JOB_UID_VARIABLE)));
        }
        Ok(Some(Self { schedule: schedule.clone(), job, uid }))
    }

    /// The name of the directory of the run. A later Job of the same name has another one: it would
    /// report the end of the earlier run as its own.
    fn directory(&self) -> String {
        let uid = self.uid.as_ref().map(|uid| format!("-{uid}")).unwrap_or_default();
        format!("{PREFIX}{}{uid}", self.job)
    }

    /// Makes sure that no other run is active in the namespace, and removes what earlier ones left.
    /// Returns what the archive says about the schedule.
    pub(super) async fn enter(
        &self,
        cluster: &Cluster,
        pod: &Pod,
        places: &Directories,
        wait: StartWait,
    ) -> Result<Value, AppError> {
        let uid = pod.uid.clone().ok_or_else(|| {
            AppError::system("failed to identify this pod, so other runs cannot be ruled out")
                .hint("let the aggregator's account get pods in its namespace")
        })?;
        let own = ScheduledPod { namespace: pod.namespace.clone(), name: pod.name.clone(), uid, job: self.job.clone() };
        clear(cluster, &own, wait).await.map_err(|error| refused(&error, &pod.namespace))?;
        remove_earlier(places);
        let now = Timestamp::now();
        let time = schedule::time_of_job(&self.job, now);
        let mut about = json!({"cron": self.schedule.cron, "time-zone": self.schedule.zone, "time": time});
        let Some(time) = time else { return Ok(about) };
        match schedule::record(cluster, &pod.namespace, time).await {
            Err(error) => tracing::error!("{error}: missed runs are not known"),
            Ok(last) => {
                let missed = last.map(|last| self.schedule.missed(last, time)).unwrap_or_default();
                if let Some(message) = missed_message(&missed) {
                    tracing::warn!("{message}");
                    schedule::warn_missed(cluster, &own, &message).await;
                }
                if let Some(about) = about.as_object_mut() {
                    about.insert("last".to_owned(), json!(last));
                    about.insert("missed".to_owned(), json!(missed.count));
                    about.insert("missed-times".to_owned(), json!(missed.times));
                }
            }
        }
        Ok(about)
    }

    /// Removes archives of earlier runs that exceed the limits, unless this run's archive could not
    /// be uploaded: the earlier ones may be the only ones.
    pub(super) fn prune(&self, context: &Context, places: &Directories, status: &RunStatus) {
        let keep = self.schedule.keep;
        if !keep.any() || status.tar_info.name.is_empty() {
            return;
        }
        if is_undelivered(status) {
            return tracing::warn!("no archive is removed, because that of this run was not uploaded");
        }
        let retention = Retention { history: Some(places.archives.clone()), keep: keep.into() };
        // Archives are read from a disk.
        let removed =
            tokio::task::block_in_place(|| retention.apply(context, &places.archives.join(&status.tar_info.name)));
        match removed {
            Err(error) => tracing::error!("failed to remove archives of earlier runs: {error}"),
            Ok(removals) => {
                for removal in removals {
                    match removal.result {
                        Ok(()) => tracing::info!(archive = %removal.path.display(), "removed"),
                        Err(error) => tracing::error!("{error}"),
                    }
                }
            }
        }
    }
}

/// Whether a variable can be a part of a path, as the values of these labels can.
fn is_label(text: &str) -> bool {
    text.len() <= 63 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether the archive should have been uploaded, and was not.
pub(super) fn is_undelivered(status: &RunStatus) -> bool {
    status.delivery.as_deref().is_some_and(|delivery| delivery.starts_with(names::NOT_DELIVERED))
}

/// Makes sure that no other run is active, and waits for an API server that does not answer.
async fn clear(cluster: &Cluster, own: &ScheduledPod, wait: StartWait) -> Result<(), OverlapError> {
    loop {
        match schedule::clear(cluster, own).await {
            Err(error) if is_temporary(&error) && !wait.left().is_zero() => {
                tracing::warn!("the start of the run is delayed: {error}");
                tokio::time::sleep(PAUSE).await;
            }
            cleared => return cleared,
        }
    }
}

fn is_temporary(error: &OverlapError) -> bool {
    matches!(error, OverlapError::Cluster(error) if error.is_transient())
}

fn refused(error: &OverlapError, namespace: &str) -> AppError {
    let failed = AppError::system("the scheduled run does not start").because(error).temporary_if(is_temporary(error));
    match error {
        OverlapError::Active { .. } => failed.hint(format!(
            "see the other run with `plumbline status -n {namespace}`; if a user started it, remove it with `plumbline delete -n {namespace}`"
        )),
        OverlapError::Remains { .. } => failed.hint("look at the finalizers of these pods, and at their nodes"),
        OverlapError::Cluster(error) => failed.hint_if(error.hint.clone()),
    }
}

fn missed_message(missed: &MissedRuns) -> Option<String> {
    let times: Vec<String> = missed.times.iter().map(Timestamp::to_string).collect();
    let named = match missed.count {
        0 => return None,
        count if count > times.len() as u64 => format!("{}, …", times.join(", ")),
        _ => listed(&times, MAX_NAMED, ", "),
    };
    let runs = if missed.count == 1 {
        "1 scheduled run was".to_owned()
    } else {
        format!("{} scheduled runs were", missed.count)
    };
    Some(format!("{runs} missed since the last one: {named}"))
}

/// Removes the working directories and incomplete archives of earlier runs, which nothing continues:
/// another Job does not take them over.
fn remove_earlier(places: &Directories) {
    let Ok(entries) = std::fs::read_dir(&places.archives) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let has = |prefix: &str, suffix: &str| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(prefix) && name.ends_with(suffix))
        };
        let is_directory = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let removed = if is_directory && has(PREFIX, "") && path != places.home {
            std::fs::remove_dir_all(&path)
        } else if !is_directory && has(".", PART) {
            std::fs::remove_file(&path)
        } else {
            continue;
        };
        match removed {
            Ok(()) => tracing::info!("removed `{}` of an earlier run", path.display()),
            Err(error) => tracing::error!("failed to remove `{}`: {error}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumbline_kubernetes::ClusterError;

    use super::*;

    #[test]
    fn missed_runs_are_reported_with_their_times() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(missed_message(&MissedRuns::default()), None);
        let one = MissedRuns { count: 1, times: vec![time("2026-11-24T03:00:00Z")] };
        assert_eq!(
            missed_message(&one).as_deref(),
            Some("1 scheduled run was missed since the last one: 2026-11-24T03:00:00Z")
        );
    }

    #[test]
    fn only_an_api_server_that_does_not_answer_is_a_temporary_cause() {
        let cluster = |code| OverlapError::Cluster(ClusterError { code, ..ClusterError::new("list the pods", "no") });
        let active = OverlapError::Active { namespace: "ns".to_owned(), pod: "other".to_owned() };
        for (error, is_temporary) in
            [(cluster(None), true), (cluster(Some(503)), true), (cluster(Some(403)), false), (active, false)]
        {
            assert_eq!(refused(&error, "ns").is_temporary(), is_temporary, "{error}");
        }
    }

    #[test]
    fn directories_of_earlier_jobs_go_and_archives_stay() {
        let dir = tempfile::tempdir().unwrap();
        let places = Directories { home: dir.path().join("run-b"), archives: dir.path().to_owned() };
        for name in ["run-a", "run-b", "other"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["run-c.tar.gz", ".run-d.tar.gz.part", ".plumbline-history"] {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        remove_earlier(&places);
        let mut left: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, [".plumbline-history", "other", "run-b", "run-c.tar.gz"]);
    }
}

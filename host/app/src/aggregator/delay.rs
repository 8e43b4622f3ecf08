//! A start that the cluster delays. While the API server does not answer, the run waits and its
//! status says so. It has not failed: received results are on disk, and workers hold the others.

use std::sync::Arc;
use std::time::Duration;

use plumbline_aggregator::{
    DispatchError, Dispatcher, Modules, Run, RunError, STATUS_FILE, Settings, Source, StartKind, StartPatience, WorkDir,
};
use plumbline_core::config::{Config, Storage};
use plumbline_core::{RunFailure, RunStatus};
use plumbline_kubernetes::manifest::START_PATIENCE;
use plumbline_kubernetes::status::{PublishOptions, publish_delay};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::AppError;

/// How long the launch of a plugin waits for an API server that does not answer.
const LAUNCH_PATIENCE: Duration = Duration::from_secs(3600);

/// The wait of a start for an API server or a registry that does not answer. All of its steps share the
/// time, so that the deadline of a Job can include it. The next container or pod of a run that continues
/// waits again.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartWait {
    end: Instant,
}

impl StartWait {
    pub(super) fn start() -> Self {
        Self { end: Instant::now() + START_PATIENCE }
    }

    /// The time that is left.
    pub(super) fn left(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

/// Starts the run, and publishes what delays it.
pub(super) async fn begin(
    work: WorkDir,
    sources: Vec<Source>,
    settings: Settings,
    modules: &Modules,
    dispatcher: Arc<dyn Dispatcher>,
    publishing: &PublishOptions,
    wait: StartWait,
) -> Result<(Run, StartKind), RunError> {
    let (delays, delay) = watch::channel(None);
    let on_delay = move |error: &DispatchError| {
        delays.send_replace(Some(failure(error)));
    };
    let patience = StartPatience { limit: wait.left(), on_delay: Arc::new(on_delay), ..StartPatience::default() };
    let settings = Settings { patience, launch_patience: LAUNCH_PATIENCE, ..settings };
    let known = last_status(&work);
    let stop = CancellationToken::new();
    let begin = async {
        let begun = Box::pin(Run::begin(work, sources, settings, modules, dispatcher)).await;
        stop.cancel();
        begun
    };
    let (begun, ()) = tokio::join!(begin, Box::pin(publish_delay(publishing, known, delay, &stop)));
    begun
}

fn failure(error: &DispatchError) -> RunFailure {
    let reason = format!("the cluster delays the start of the run: {error}");
    RunFailure::new(&reason, Some("the aggregator tries again until the cluster answers"))
}

/// What a registry that does not answer delays.
pub(super) fn of_registry(error: &AppError) -> RunFailure {
    let reason = format!("a registry delays the start of the run: {error}");
    let hint = format!("the aggregator tries again for up to {} minutes", START_PATIENCE.as_secs() / 60);
    RunFailure::new(&reason, Some(&error.hint_text().map_or(hint.clone(), |more| format!("{hint}; {more}"))))
}

/// The last status of a run that continues, and the default for a new one.
pub(super) fn last_status(work: &WorkDir) -> RunStatus {
    let bytes = std::fs::read(work.root().join(STATUS_FILE)).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Returns the result of a part of the start, unless this process is asked to stop before.
pub(super) async fn unless_stopped<T, E: From<AppError>>(
    stop: &CancellationToken,
    part: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let stopped = || AppError::system("the aggregator was asked to stop before the run started").temporary_if(true);
    stop.run_until_cancelled(part).await.unwrap_or_else(|| Err(stopped().into()))
}

/// Whether the volume of the run outlives its pod, so that the run continues in another one.
pub(super) fn has_volume(config: &Config) -> bool {
    matches!(config.plumbline.storage, Storage::Claim { .. })
}

/// Whether a container or pod follows this one if it fails. Without a volume, the pod of a Job and
/// that of Sonobuoy's manifest have no successor: they are not restarted.
pub(super) fn is_followed(config: &Config) -> bool {
    has_volume(config) || (config.plumbline.schedule.is_none() && !config.from_sonobuoy)
}

/// Whether a start that the cluster delays for too long is left to a successor.
///
/// A new run has no results to keep, and would wait for ever if the cause lasts, such as a broken
/// webhook. Its Job limits the attempts of a scheduled run.
pub(super) fn tries_again(config: &Config, work: &WorkDir) -> bool {
    config.plumbline.schedule.is_some() || !matches!(work.record(), Ok(None))
}

/// Lets this process end, so that its successor tries again: with an error, or as if it was stopped.
/// The status of the run stays as it is.
pub(super) fn leave(config: &Config, error: AppError) -> Result<(), AppError> {
    if !has_volume(config) {
        return Err(error);
    }
    // The exit code of a process that was stopped lets a Job start another pod.
    tracing::error!("{error}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use plumbline_aggregator::RunRecord;
    use plumbline_core::RunId;

    use super::*;

    fn config(has_volume: bool, is_scheduled: bool) -> Config {
        let storage = if has_volume { r#""Storage": "pvc:1Gi""# } else { r#""UploadURL": "s3://bucket""# };
        let schedule = if is_scheduled { r#", "Schedule": {"Cron": "0 3 * * *"}"# } else { "" };
        Config::over_zero(&format!(r#"{{"Plumbline": {{{storage}{schedule}}}}}"#)).unwrap()
    }

    #[test]
    fn a_delayed_run_is_left_to_its_next_container_or_pod() {
        // The container of a pod is restarted. A Job needs the exit code of a stop.
        for (has_volume, is_scheduled, is_left) in [(false, false, false), (true, false, true), (true, true, true)] {
            let config = config(has_volume, is_scheduled);
            assert!(is_followed(&config), "volume: {has_volume}, schedule: {is_scheduled}");
            let end = leave(&config, AppError::system("the API server is away"));
            assert_eq!(end.is_ok(), is_left, "the exit code is not 0");
        }
        assert!(!is_followed(&config(false, true)), "nothing continues it, so it has failed");
        assert!(!is_followed(&Config::over_zero("{}").unwrap()), "Sonobuoy's pod is not restarted");
    }

    #[test]
    fn a_new_run_does_not_wait_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path().join("run")).unwrap();
        assert!(!tries_again(&config(false, false), &work) && !tries_again(&config(true, false), &work));
        assert!(tries_again(&config(true, true), &work));
        let record = RunRecord {
            run: RunId::random(),
            started: Timestamp::now(),
            plugins: Vec::new(),
            timeout_seconds: 0,
            deadline_seconds: 0,
        };
        work.begin(&record).unwrap();
        assert!(tries_again(&config(false, false), &work), "its results are kept");
    }

    #[test]
    fn the_results_of_a_run_that_continues_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path().join("run")).unwrap();
        assert_eq!(last_status(&work), RunStatus::default());
        std::fs::write(work.root().join(STATUS_FILE), r#"{"plugins": [{"plugin": "e2e", "node": "global"}]}"#).unwrap();
        assert_eq!(last_status(&work).plugins.unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_steps_of_a_start_share_the_time_of_the_wait() {
        let wait = StartWait::start();
        tokio::time::advance(START_PATIENCE / 4).await;
        assert_eq!(wait.left(), START_PATIENCE / 4 * 3);
        tokio::time::advance(START_PATIENCE).await;
        assert_eq!(wait.left(), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_start_ends_when_the_process_is_asked_to_stop() {
        let stop = CancellationToken::new();
        assert_eq!(unless_stopped(&stop, async { Ok::<_, AppError>(7) }).await.unwrap(), 7);
        stop.cancel();
        let error = unless_stopped(&stop, std::future::pending::<Result<(), AppError>>()).await.unwrap_err();
        assert!(error.is_temporary(), "the run has not failed: {error}");
    }
}

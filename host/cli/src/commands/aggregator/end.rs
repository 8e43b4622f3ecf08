//! How the end of a run is told: in its status, where whoever waits for it looks, and not only in the log of a pod.

use std::fmt;

use plumbline_app::AppError;
use plumbline_core::config::Config;
use plumbline_core::run_status::{RunPhase, RunStatus, TarInfo};
use plumbline_core::{RunFailure, RunId};
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::{Pace, PublishOptions, WorkerPods, publish_last};

use super::ground::Place;

/// What ends a run without an archive, and what was known of the run by then.
pub(super) struct Broken {
    pub(super) error: AppError,
    status: RunStatus,
}

impl Broken {
    /// The run had begun, and stood so.
    pub(super) fn at(status: RunStatus, error: AppError) -> Self {
        Self { error, status }
    }

    /// The last status of the run: failed, and why.
    pub(super) fn status(&self) -> RunStatus {
        RunStatus {
            status: RunPhase::Failed,
            tar_info: TarInfo::default(),
            failure: Some(self.error.failure()),
            ..self.status.clone()
        }
    }
}

impl From<AppError> for Broken {
    /// There was no plan yet.
    fn from(error: AppError) -> Self {
        Self { error, status: RunStatus::default() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// The last status. Without it nobody outside learns that the run is over: the log says so, if nothing else can.
pub(super) async fn tell_end(publishing: &PublishOptions, status: &RunStatus) {
    if let Err(error) = publish_last(publishing, status.clone()).await {
        tracing::error!("the last status cannot be told: {error}");
    }
}

/// SourceKind the status of the run goes.
pub(super) fn publishing(cluster: &Cluster, place: &Place, run: RunId) -> PublishOptions {
    PublishOptions {
        cluster: cluster.clone(),
        namespace: place.namespace.clone(),
        pod: place.pod.clone(),
        run,
        owner: place.owner_reference(),
        workers: WorkerPods::default(),
        pace: Pace::default(),
    }
}

/// Tells that a run cannot even begin in this container. The next container tries again, and tells what comes of that.
pub(super) async fn tell_no_beginning(cluster: &Cluster, config: &Config, error: &AppError) {
    let place = Place::find(cluster, config).await;
    let run = config.uuid.parse().unwrap_or_else(|_| RunId::random());
    tell_end(&publishing(cluster, &place, run), &Broken::from(error.clone()).status()).await;
}

/// Why a run that fails fast was ended before anything was launched: `troubles` are no result of any plugin.
pub(super) fn ended_early(troubles: &[String]) -> Option<RunFailure> {
    let hint = "the run was to fail fast; without `--fail-fast` it goes on in spite of this";
    (!troubles.is_empty()).then(|| RunFailure::new(&troubles.join("\n"), Some(hint)))
}

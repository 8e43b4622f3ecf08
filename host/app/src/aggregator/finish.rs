//! How a run finishes: the upload of its archive, and its last status, which clients read and which
//! a restarted container finds.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_aggregator::deliver::{Archive, Destination};
use plumbline_archive::atomic::write_atomic;
use plumbline_archive::disk::Disk;
use plumbline_archive::layout::parse_archive_name;
use plumbline_core::RunId;
use plumbline_core::config::Config;
use plumbline_core::run_status::{RunPhase, RunStatus, TarInfo};
use plumbline_kubernetes::status::{Pace, PublishOptions, WorkerPods, publish_last};
use plumbline_kubernetes::{Cluster, names};

use crate::aggregator::scheduled::Directories;
use crate::aggregator::start::Pod;
use crate::error::AppError;

/// The file with the last status of a finished run, in the aggregator's directory.
const RECORD: &str = ".plumbline-finished.json";

fn path(dir: &Path) -> PathBuf {
    dir.join(RECORD)
}

/// The last status of the run that has finished in `dir`.
pub(super) fn recorded(dir: &Path) -> Option<RunStatus> {
    let bytes = std::fs::read(path(dir)).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(status) => Some(status),
        Err(error) => {
            tracing::warn!("failed to read `{}`, so the run starts again: {error}", path(dir).display());
            None
        }
    }
}

/// The ID of a run that has finished, which is a part of the name of its archive.
pub(super) fn id_of(status: &RunStatus) -> Option<RunId> {
    parse_archive_name(&status.tar_info.name)?.run.parse().ok()
}

/// Records the last status in `dir`, so that it survives a power failure.
pub(super) fn record(dir: &Path, status: &RunStatus) -> io::Result<()> {
    write_atomic(&path(dir), &serde_json::to_vec(status)?)
}

/// Removes the record in `dir`, so that it does not come back after a power failure.
pub(super) fn forget(dir: &Path) -> io::Result<()> {
    let disk = Disk::default();
    disk.remove_file(&path(dir))?;
    disk.sync_directory(dir)
}

/// Updates a recorded status. If that fails, the earlier one remains.
pub(super) fn update_record(dir: &Path, status: &RunStatus) {
    if let Err(error) = record(dir, status) {
        tracing::warn!("failed to record the end of the run in `{}`: {error}", dir.display());
    }
}

/// A run that ended without an archive, and its status by then.
pub(super) struct FailedRun {
    pub(super) error: AppError,
    pub(super) status: RunStatus,
}

impl FailedRun {
    /// The last status of the run, with the failure.
    pub(super) fn status(&self) -> RunStatus {
        RunStatus {
            status: RunPhase::Failed,
            tar_info: TarInfo::default(),
            failure: Some(self.error.failure()),
            ..self.status.clone()
        }
    }
}

impl From<AppError> for FailedRun {
    /// The run failed before it had a plan.
    fn from(error: AppError) -> Self {
        Self { error, status: RunStatus::default() }
    }
}

/// Publishes the last status. If that fails, only the log says that the run is over.
pub(super) async fn publish_end(publishing: &PublishOptions, status: &RunStatus) {
    if let Err(error) = publish_last(publishing, status.clone()).await {
        tracing::error!("failed to publish the last status: {error}");
    }
}

/// How the status of the run is published.
pub(super) fn publishing(cluster: &Cluster, pod: &Pod, run: RunId) -> PublishOptions {
    PublishOptions {
        cluster: cluster.clone(),
        namespace: pod.namespace.clone(),
        pod: pod.name.clone(),
        run,
        owner: pod.owner_reference(),
        workers: WorkerPods::default(),
        pace: Pace::default(),
    }
}

/// Uploads the archive if the configuration has a URL for it and that was not done before. The
/// status has the outcome.
pub(super) async fn upload(config: &Config, places: &Directories, mut status: RunStatus) -> RunStatus {
    let url = &config.plumbline.upload_url;
    if url.is_empty() || status.delivery.is_some() || status.tar_info.name.is_empty() {
        return status;
    }
    let tar = &status.tar_info;
    let path = places.archives.join(&tar.name);
    let archive = Archive { path, name: tar.name.clone(), bytes: tar.size, sha256: tar.sha256.clone() };
    status.delivery = Some(deliver(url, &archive).await);
    update_record(&places.home, &status);
    status
}

/// Uploads the archive. Returns its URL, or the reason why the upload failed, for the status.
async fn deliver(url: &str, archive: &Archive) -> String {
    let settings: BTreeMap<String, String> = std::env::vars().collect();
    let sent = match Destination::parse(url, &settings) {
        Ok(destination) => destination.deliver(archive).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(address) => {
            tracing::info!(%address, "the archive was sent");
            address
        }
        Err(error) => {
            tracing::error!("{error}");
            format!("{}{error}", names::NOT_DELIVERED)
        }
    }
}

//! Captures logs of plugin pods for the archive.
//!
//! They are in `podlogs/NAMESPACE/POD/logs/CONTAINER.txt`. A restarted container also has
//! `CONTAINER.previous.txt`.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::AsyncReadExt as _;
use plumbline_archive::atomic::TEMPORARY_PREFIX;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Semaphore;

use super::logs::Log;
use crate::cluster::Cluster;
use crate::error::{ClusterError, chain};
use crate::pod_view::PodView;

/// Maximum number of logs to read at once. Every log passes through the API server, so more would
/// slow it down for other users.
pub(super) const AT_ONCE: usize = 8;

/// Maximum size of one container's log in bytes. A longer log mostly repeats itself.
const MAX_BYTES: u64 = 64 << 20;

/// Number of consecutive failures after which no more logs are requested. If nodes are unreachable,
/// each of thousands of logs would take seconds.
const GIVE_UP: u32 = 20;

/// How long a log may be silent. The API server has the whole log when it starts to respond.
const SILENCE: Duration = Duration::from_secs(30);

/// Size of the copy buffer in bytes.
const PIECE: usize = 64 << 10;

/// Writes logs into the tree of the run.
#[derive(Clone)]
pub(super) struct Capture {
    cluster: Cluster,
    namespace: String,
    tree: PathBuf,
    gate: Arc<Semaphore>,
    /// Number of consecutive failures.
    failed: Arc<AtomicU32>,
    /// Maximum size of one container's log in bytes (see [`MAX_BYTES`]).
    limit: u64,
}

impl Capture {
    pub(super) fn new(cluster: Cluster, namespace: String, tree: PathBuf) -> Self {
        Self {
            cluster,
            namespace,
            tree,
            gate: Arc::new(Semaphore::new(AT_ONCE)),
            failed: Arc::default(),
            limit: MAX_BYTES,
        }
    }

    /// Returns a capture for the pods of one plugin, without the earlier failures.
    pub(super) fn afresh(&self) -> Self {
        Self { failed: Arc::default(), ..self.clone() }
    }

    /// Reads the logs of all containers of a pod that have run.
    ///
    /// A failure is logged, and the part that was read earlier is kept. A result may fail while its
    /// pod continues, so a later capture has more to read and replaces the file.
    pub(super) async fn pod(&self, pod: &PodView) {
        for container in pod.containers.iter().filter(|container| container.has_run()) {
            for previous in [false, true] {
                if previous && container.restarts == 0 {
                    continue;
                }
                let log = Log { namespace: &self.namespace, pod: &pod.name, container: &container.name, previous };
                // The semaphore is never closed.
                let _permit = self.gate.acquire().await;
                if self.failed.load(Ordering::Relaxed) >= GIVE_UP {
                    return;
                }
                let Err(error) = self.one(&log).await else {
                    self.failed.store(0, Ordering::Relaxed);
                    continue;
                };
                tracing::warn!(pod = %pod.name, container = %container.name, "{error}");
                if self.failed.fetch_add(1, Ordering::Relaxed) + 1 == GIVE_UP {
                    tracing::warn!("no more logs of this plugin are read: the last {GIVE_UP} could not be");
                }
            }
        }
    }

    async fn one(&self, log: &Log<'_>) -> Result<(), ClusterError> {
        let late = || ClusterError::new(log.what(), format!("nothing came for {} s", SILENCE.as_secs()));
        // Request one byte more than the limit, to detect a longer log.
        let stream = tokio::time::timeout(SILENCE, log.stream(&self.cluster, self.limit + 1)).await;
        let mut stream = pin!(stream.map_err(|_| late())??);
        let kept = |error: io::Error| ClusterError::new("keep a log of a pod", chain(&error));
        let path = path(&self.tree, log);
        let (temporary, file) = create(&path).map_err(kept)?;
        let mut file = tokio::fs::File::from_std(file);
        let mut left = self.limit;
        let mut piece = vec![0; PIECE];
        let broken = loop {
            let read = match tokio::time::timeout(SILENCE, stream.read(&mut piece)).await {
                Ok(Ok(0)) => break None,
                Ok(Ok(read)) => read,
                Ok(Err(error)) => break Some(log.broken(&error)),
                Err(_) => break Some(late()),
            };
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(read);
            file.write_all(piece.get(..wanted).unwrap_or_default()).await.map_err(kept)?;
            left -= wanted as u64;
            if wanted < read {
                let told = format!("\n[cut here: the log is longer than {} bytes]\n", self.limit);
                file.write_all(told.as_bytes()).await.map_err(kept)?;
                break None;
            }
        };
        if let Some(error) = &broken {
            file.write_all(format!("\n[broken off here: {}]\n", error.cause).as_bytes()).await.map_err(kept)?;
        }
        file.flush().await.map_err(kept)?;
        temporary.persist(&path).map_err(|error| kept(error.error))?;
        broken.map_or(Ok(()), Err)
    }
}

/// Returns the path of a log. Names of namespace, pod and container contain no `/`, and are not `.`
/// or `..`. That was checked when they were read.
fn path(tree: &Path, log: &Log<'_>) -> PathBuf {
    let kind = if log.previous { "previous.txt" } else { "txt" };
    let dir = tree.join("podlogs").join(log.namespace).join(log.pod).join("logs");
    // Container names contain no dot, so the two names cannot collide.
    dir.join(format!("{}.{kind}", log.container))
}

/// Creates a temporary file next to its final path.
fn create(path: &Path) -> io::Result<(NamedTempFile, std::fs::File)> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(dir)?;
    let file = temporary.reopen()?;
    Ok((temporary, file))
}

#[cfg(test)]
mod tests {
    use plumbline_apidouble::ApiDouble;
    use serde_json::json;

    use super::super::samples::{pod_with, running, view};
    use super::*;
    use crate::cluster::ConnectOptions;

    #[tokio::test]
    async fn a_log_that_is_too_long_is_cut_and_says_so_and_a_later_one_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let double = ApiDouble::start().await.unwrap();
        std::fs::write(dir.path().join("kubeconfig"), double.kubeconfig()).unwrap();
        let options = ConnectOptions { kubeconfig: Some(dir.path().join("kubeconfig")), context: None };
        let cluster = Cluster::connect(&options).await.unwrap();
        let pod = pod_with("a", "w1", json!({"waiting": {}}), running());
        double.put("pods", pod.clone());
        double.set_log("ns", "a", "sonobuoy-worker", "0123456789abcdef");
        let capture = |limit| Capture { limit, ..Capture::new(cluster.clone(), "ns".into(), dir.path().join("tree")) };
        let log = dir.path().join("tree/podlogs/ns/a/logs/sonobuoy-worker.txt");

        capture(10).pod(&view(&pod)).await;
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "0123456789\n[cut here: the log is longer than 10 bytes]\n");
        assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o644);
        capture(16).pod(&view(&pod)).await;
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "0123456789abcdef");
        // A log that is no longer readable is kept.
        double.remove("pods", "ns", "a");
        double.deny("get", "pods/log");
        capture(16).pod(&view(&pod)).await;
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "0123456789abcdef");
    }

    #[tokio::test]
    async fn logs_that_cannot_be_read_are_given_up_and_one_that_can_be_counts_anew() {
        let dir = tempfile::tempdir().unwrap();
        let double = ApiDouble::start().await.unwrap();
        std::fs::write(dir.path().join("kubeconfig"), double.kubeconfig()).unwrap();
        let options = ConnectOptions { kubeconfig: Some(dir.path().join("kubeconfig")), context: None };
        let cluster = Cluster::connect(&options).await.unwrap();
        let capture = Capture::new(cluster, "ns".into(), dir.path().join("tree"));
        let pod = pod_with("a", "w1", json!({"waiting": {}}), running());
        double.put("pods", pod.clone());
        double.deny("get", "pods/log");
        let asked = || double.requests().iter().filter(|request| request.path.ends_with("/log")).count();
        for _ in 0..GIVE_UP + 5 {
            capture.pod(&view(&pod)).await;
        }
        assert_eq!(asked(), GIVE_UP as usize);
        double.allow("get", "pods/log");
        let capture = capture.afresh();
        capture.failed.store(GIVE_UP - 1, Ordering::Relaxed);
        capture.pod(&view(&pod)).await;
        assert_eq!(capture.failed.load(Ordering::Relaxed), 0);
    }
}

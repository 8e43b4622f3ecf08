//! Captures logs of plugin pods: for the archive, and their last lines for errors.
//!
//! In the archive, they are in `podlogs/NAMESPACE/POD/logs/CONTAINER.txt`. A restarted container
//! also has `CONTAINER.previous.txt`.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::io::AsyncReadExt as _;
use futures_util::{AsyncBufRead, StreamExt as _, future, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use plumbline_archive::atomic::TEMPORARY_PREFIX;
use plumbline_core::PluginName;
use tempfile::NamedTempFile;
use tokio::sync::Semaphore;

use crate::cluster::Cluster;
use crate::error::{ClusterError, chain};
use crate::log_copy::{CopyError, copy_log};
use crate::pod_view::PodView;

/// Maximum number of logs to read at once. Every log passes through the API server, so more would
/// slow it down for other users.
const AT_ONCE: usize = 8;

/// Maximum size of one container's log in bytes. A longer log mostly repeats itself.
const MAX_BYTES: u64 = 64 << 20;

/// Number of consecutive failures after which no more logs are requested. If nodes are unreachable,
/// each of thousands of logs would take seconds.
const GIVE_UP: u32 = 20;

/// How long a log may be silent. The API server has the whole log when it starts to respond.
const SILENCE: Duration = Duration::from_secs(30);

/// Timeout for capturing the logs of one plugin. The results wait meanwhile, and matter more.
const CAPTURE_TIME: Duration = Duration::from_secs(180);

/// Writes logs into the tree of the run.
#[derive(Clone)]
pub(super) struct Capture {
    cluster: Cluster,
    namespace: String,
    tree: PathBuf,
    gate: Arc<Semaphore>,
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
                    tracing::warn!("stopped reading logs of this plugin: the last {GIVE_UP} attempts failed");
                }
            }
        }
    }

    async fn one(&self, log: &Log<'_>) -> Result<(), ClusterError> {
        let late = || ClusterError::new(log.what(), format!("no data for {} s", SILENCE.as_secs()));
        // Request one byte more than the limit, to detect a longer log.
        let params = LogParams { limit_bytes: i64::try_from(self.limit + 1).ok(), ..LogParams::default() };
        let stream = tokio::time::timeout(SILENCE, log.open(&self.cluster, params)).await;
        let stream = stream.map_err(|_| late())??;
        let kept = |error: io::Error| ClusterError::new("keep a log of a pod", chain(&error));
        let path = path(&self.tree, log);
        let mut file = create(&path).map_err(kept)?;
        let note = format!("\n[cut here: the log is longer than {} bytes]\n", self.limit);
        let broken = match copy_log(stream, file.as_file_mut(), self.limit, SILENCE, &note).await {
            Ok(_) => None,
            Err(CopyError::Write(error)) => return Err(kept(error)),
            Err(CopyError::Silent(_)) => Some(late()),
            Err(CopyError::Read(error)) => Some(ClusterError::new(log.what(), error.to_string())),
        };
        if let Some(error) = &broken {
            file.as_file_mut()
                .write_all(format!("\n[interrupted here: {}]\n", error.cause).as_bytes())
                .map_err(kept)?;
        }
        file.persist(&path).map_err(|error| kept(error.error))?;
        broken.map_or(Ok(()), Err)
    }
}

/// Captures the logs of a plugin's pods, except on nodes that are not ready. Each log of an
/// unresponsive node would delay the end of the run until its timeout.
pub(super) async fn capture_logs(
    capture: &Capture,
    plugin: &PluginName,
    pods: Vec<Arc<PodView>>,
    ready: Option<&BTreeSet<String>>,
) {
    let is_away = |pod: &Arc<PodView>| {
        let node = pod.node.as_deref();
        node.is_some_and(|node| ready.is_some_and(|ready| !ready.contains(node)))
    };
    let (away, pods): (Vec<_>, Vec<_>) = pods.into_iter().partition(is_away);
    for pod in away {
        let node = pod.node.as_deref().unwrap_or_default();
        tracing::warn!(pod = %pod.name, "its logs are not in the archive: node `{node}` is not ready");
    }
    let mut left = pods.len();
    // The pods are processed as a stream, because pending requests for 5,000 pods would need much
    // memory.
    let all = stream::iter(pods)
        .map(|pod| {
            let capture = capture.clone();
            async move { capture.pod(&pod).await }
        })
        .buffer_unordered(AT_ONCE)
        .for_each(|()| {
            left -= 1;
            future::ready(())
        });
    if tokio::time::timeout(CAPTURE_TIME, all).await.is_err() {
        let seconds = CAPTURE_TIME.as_secs();
        tracing::warn!(%plugin, "logs of {left} pods are not in the archive: reading them took longer than {seconds} s");
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

fn create(path: &Path) -> io::Result<NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    tempfile::Builder::new().prefix(TEMPORARY_PREFIX).permissions(Permissions::from_mode(0o644)).tempfile_in(dir)
}

/// Number of log lines to keep with an error.
const TAIL_LINES: i64 = 50;

/// Maximum size of these lines in bytes.
const TAIL_BYTES: usize = 16 << 10;

/// Number of bytes to request in order to get the last ones. The server truncates the end, which is
/// the important part.
const TAIL_READ: i64 = 256 << 10;

/// Timeout for reading the end of a log.
const ANSWER: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
pub(super) struct Log<'a> {
    pub(super) namespace: &'a str,
    pub(super) pod: &'a str,
    pub(super) container: &'a str,
    /// Whether this is the log of the instance before the last restart.
    pub(super) previous: bool,
}

impl Log<'_> {
    fn what(&self) -> String {
        let previous = if self.previous { "previous " } else { "" };
        format!(
            "read the {previous}log of container `{}` of pod `{}` in namespace `{}`",
            self.container, self.pod, self.namespace
        )
    }

    async fn open(&self, cluster: &Cluster, params: LogParams) -> Result<impl AsyncBufRead + use<>, ClusterError> {
        let params = LogParams { container: Some(self.container.to_owned()), previous: self.previous, ..params };
        let api: Api<Pod> = Api::namespaced(cluster.client(), self.namespace);
        api.log_stream(self.pod, &params).await.map_err(|error| ClusterError::api(self.what(), &error))
    }

    pub(super) async fn tail(&self, cluster: &Cluster) -> Result<String, ClusterError> {
        let late = |_| ClusterError::new(self.what(), format!("no answer within {} s", ANSWER.as_secs()));
        let params = LogParams { tail_lines: Some(TAIL_LINES), limit_bytes: Some(TAIL_READ), ..LogParams::default() };
        let reader = tokio::time::timeout(ANSWER, self.open(cluster, params)).await.map_err(late)??;
        // The log is read as bytes, because it may not be text.
        let mut bytes = Vec::new();
        let mut log = Box::pin(reader).take(u64::try_from(TAIL_READ).unwrap_or_default());
        let read = tokio::time::timeout(ANSWER, log.read_to_end(&mut bytes)).await.map_err(late)?;
        read.map_err(|error| ClusterError::new(self.what(), error.to_string()))?;
        Ok(last_lines(&String::from_utf8_lossy(&bytes)))
    }
}

fn last_lines(text: &str) -> String {
    let lines = usize::try_from(TAIL_LINES).unwrap_or_default();
    let start = text.trim_end().rmatch_indices('\n').nth(lines - 1).map_or(0, |(at, _)| at + 1);
    let cut = text.ceil_char_boundary(start.max(text.len().saturating_sub(TAIL_BYTES)));
    text.get(cut..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{pod_with, running, view};
    use super::*;
    use crate::cluster::tests::cluster;
    use plumbline_dev::ApiDouble;
    use serde_json::json;

    #[tokio::test]
    async fn a_log_that_is_too_long_is_cut_and_says_so_and_a_later_one_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let double = ApiDouble::start().await.unwrap();
        let cluster = cluster(&double).await;
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
    async fn unreadable_logs_are_given_up_until_one_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let double = ApiDouble::start().await.unwrap();
        let capture = Capture::new(cluster(&double).await, "ns".into(), dir.path().join("tree"));
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

    #[test]
    fn the_end_of_a_log_is_kept_not_its_beginning() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let tail = last_lines(&text);
        assert_eq!((tail.lines().next(), tail.lines().last()), (Some("line 50"), Some("line 99")));
        assert_eq!(last_lines("a\nb"), "a\nb");
        assert_eq!(last_lines(""), "");
        let wide = "ä".repeat(TAIL_BYTES) + "z";
        let tail = last_lines(&wide);
        assert!(tail.len() <= TAIL_BYTES && tail.ends_with("äz"));
    }
}

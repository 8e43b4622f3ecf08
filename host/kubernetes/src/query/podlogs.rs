//! The logs of pods.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::io::{AsyncBufRead, AsyncBufReadExt};
use jiff::Timestamp;
use kube::core::subresource::LogParams;
use serde_json::Value;
use tokio::time::Instant;

use super::fetch::Fetch;
use super::filter::{NamespaceFilter, Scope, scope};
use super::list::{Selection, Sink, list};
use super::options::{PodLogOptions, QueryOptions};
use super::record::{Recorder, not_written};
use super::safe::is_safe_name;
use super::selector;
use super::store::Scratch;
use crate::error::chain;

/// What is kept of one container's log at most: a container that crashes in a loop must not make an archive that nobody can open.
const MAX_LOG: u64 = 64 << 20;

/// How long a log may be silent before its end. It is a file on the node: it comes at once or not at all.
const SILENCE: Duration = Duration::from_secs(60);

/// How long one log may take altogether.
const WITHIN: Duration = Duration::from_secs(600);

/// Containers at once; the throttle bounds it further.
const AT_ONCE: usize = 8;

/// Collects the logs that `options` ask for. What cannot be had is recorded, container by container.
pub(super) async fn pod_logs(
    fetch: &Fetch,
    record: &Recorder<'_>,
    scratch: &Arc<Scratch>,
    options: &QueryOptions,
    namespaces: &[String],
) {
    let pods = choose(fetch, record, options, namespaces).await;
    let mut logs = Vec::new();
    for pod in &pods {
        logs.extend(pod.containers.iter().map(|container| (pod, container.as_str())));
    }
    futures_util::stream::iter(logs)
        .for_each_concurrent(AT_ONCE, |(pod, container)| async move {
            let began = Instant::now();
            let taken = tokio::time::timeout(WITHIN, log(fetch, scratch, &options.pod_logs, pod, container)).await;
            let result = taken.unwrap_or_else(|_| {
                let (name, within) = (&pod.name, WITHIN.as_secs());
                Err(format!("the log of container `{container}` of pod `{name}` did not end within {within} s"))
            });
            record.query("podlogs", &pod.namespace, began, result);
        })
        .await;
}

/// A pod whose logs are collected.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pod {
    namespace: String,
    name: String,
    /// What tells it from others: its UID, or namespace and name on a server that gives none.
    identity: String,
    containers: Vec<String>,
}

/// Takes the pods of a list that have logs, each once.
#[derive(Debug, Default)]
struct Pods {
    filter: Option<NamespaceFilter>,
    pods: Vec<Pod>,
    refused: Vec<String>,
}

impl Sink for Pods {
    fn item(&mut self, item: Value) -> io::Result<()> {
        match read_pod(&item) {
            Ok(Some(pod)) if self.filter.as_ref().is_none_or(|filter| filter.takes(&pod.namespace)) => {
                self.pods.push(pod);
            }
            Ok(_) => {}
            Err(why) => self.refused.push(why),
        }
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.pods.clear();
        self.refused.clear();
        Ok(())
    }
}

/// What matters of a pod; `None` if it has no logs any more, because it was evicted.
fn read_pod(item: &Value) -> Result<Option<Pod>, String> {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/status/reason") == "Evicted" {
        return Ok(None);
    }
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let mut containers = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in
            item.pointer("/spec").and_then(|spec| spec.get(list)).and_then(Value::as_array).into_iter().flatten()
        {
            containers.push(container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned());
        }
    }
    if let Some(bad) =
        [namespace, name].into_iter().chain(containers.iter().map(String::as_str)).find(|name| !is_safe_name(name))
    {
        return Err(format!("pod {name:?} in namespace {namespace:?} has the name {bad:?}, which is none"));
    }
    let identity = match text("/metadata/uid") {
        "" => format!("{namespace}/{name}"),
        uid => uid.to_owned(),
    };
    Ok(Some(Pod { namespace: namespace.to_owned(), name: name.to_owned(), identity, containers }))
}

/// All pods that are asked for: by namespace, and by field selectors over all namespaces.
async fn choose(fetch: &Fetch, record: &Recorder<'_>, options: &QueryOptions, namespaces: &[String]) -> Vec<Pod> {
    let wanted = &options.pod_logs;
    let labels = match selector::complaint(&wanted.label_selector) {
        None => wanted.label_selector.clone(),
        Some(why) => {
            record.problem("podlogs", "", format!("the label selector of pod logs is left out: {why}"));
            String::new()
        }
    };
    let filter = filter(wanted, &options.own_namespace, record);
    let by_labels = Selection { labels, ..Selection::default() };
    let mut asked: Vec<(String, Selection, Option<NamespaceFilter>)> = Vec::new();
    // The whole list is taken only if it does for all of many namespaces; where it is refused, each is asked for.
    let each = match scope(namespaces, &filter) {
        Scope::All => {
            let whole = ask(fetch, "/api/v1/pods", &by_labels, Some(filter.clone())).await;
            match whole {
                Ok(pods) => return with_fields(fetch, record, wanted, &by_labels, vec![pods]).await,
                Err(error) if error.is_forbidden() => namespaces.to_vec(),
                Err(error) => {
                    record.problem("podlogs", "", error.to_string());
                    Vec::new()
                }
            }
        }
        Scope::Each(each) => each,
    };
    asked.extend(each.iter().map(|namespace| (namespace.clone(), by_labels.clone(), None)));
    let mut lists = Vec::new();
    for (namespace, selection, filter) in asked {
        match ask(fetch, &format!("/api/v1/namespaces/{namespace}/pods"), &selection, filter).await {
            Ok(pods) => lists.push(pods),
            Err(error) => record.problem("podlogs", &namespace, error.to_string()),
        }
    }
    with_fields(fetch, record, wanted, &by_labels, lists).await
}

/// Adds what field selectors select, and takes every pod once.
async fn with_fields(
    fetch: &Fetch,
    record: &Recorder<'_>,
    wanted: &PodLogOptions,
    by_labels: &Selection,
    mut lists: Vec<Pods>,
) -> Vec<Pod> {
    for fields in &wanted.field_selectors {
        let selection = Selection { fields: fields.clone(), ..by_labels.clone() };
        match ask(fetch, "/api/v1/pods", &selection, None).await {
            Ok(pods) => lists.push(pods),
            Err(error) => record.problem("podlogs", "", format!("field selector `{fields}`: {error}")),
        }
    }
    let mut seen = BTreeSet::new();
    let mut pods = Vec::new();
    for list in lists {
        for why in list.refused {
            record.problem("podlogs", "", why);
        }
        pods.extend(list.pods.into_iter().filter(|pod| seen.insert(pod.identity.clone())));
    }
    pods
}

async fn ask(
    fetch: &Fetch,
    path: &str,
    selection: &Selection,
    filter: Option<NamespaceFilter>,
) -> Result<Pods, crate::ClusterError> {
    let sink = Pods { filter, ..Pods::default() };
    list(fetch, "list the pods whose logs are to be collected", path, selection, sink).await.map(|(pods, _)| pods)
}

fn filter(wanted: &PodLogOptions, own: &str, record: &Recorder<'_>) -> NamespaceFilter {
    let matching = match wanted.namespaces.as_str() {
        "" => NamespaceFilter::default(),
        expression => NamespaceFilter::matching(expression).unwrap_or_else(|error| {
            record.problem("podlogs", "", format!("the namespaces of pod logs are no regular expression: {error}"));
            NamespaceFilter::default()
        }),
    };
    if wanted.own_namespace { matching.and(own) } else { matching }
}

fn params(options: &PodLogOptions, container: &str) -> LogParams {
    let max = i64::try_from(MAX_LOG).unwrap_or(i64::MAX);
    LogParams {
        container: Some(container.to_owned()),
        previous: options.previous,
        since_seconds: options.since_seconds,
        // The client rounds to seconds, upwards too: lines of the first second would be lost.
        since_time: options.since_time.and_then(|at| Timestamp::from_second(at.as_second()).ok()),
        timestamps: options.timestamps,
        tail_lines: options.tail_lines,
        // One byte more than is kept tells whether there is more.
        limit_bytes: Some(options.limit_bytes.filter(|&bytes| bytes <= max).unwrap_or(max + 1)),
        ..LogParams::default()
    }
}

async fn log(
    fetch: &Fetch,
    scratch: &Scratch,
    options: &PodLogOptions,
    pod: &Pod,
    container: &str,
) -> Result<usize, String> {
    let Pod { namespace, name, .. } = pod;
    let what = format!("read the log of container `{container}` of pod `{name}`");
    let relative = format!("podlogs/{namespace}/{name}/logs/{container}.txt");
    let request = kube::core::Request::new(format!("/api/v1/namespaces/{namespace}/pods"))
        .logs(name, &params(options, container))
        .map_err(|error| format!("failed to {what}: {error}"))?;
    let (_seat, stream) = fetch.stream(&what, request).await.map_err(|error| error.to_string())?;
    let path = scratch.path();
    let disk = |error: &io::Error| not_written(&scratch.place(&relative), error);
    let mut file = File::create(&path).map_err(|error| disk(&error))?;
    let copied = copy(stream, &mut file, MAX_LOG).await;
    drop(file);
    let broken = match copied {
        Ok(()) => None,
        Err(CopyError::Write(error)) => return Err(disk(&error)),
        Err(error) => Some(format!("failed to {what} to its end: {}", chain(&error))),
    };
    let files = keep(scratch, &path, &relative).map_err(|error| disk(&error))?;
    // The part that was read is kept, and that it is a part is told.
    broken.map_or(Ok(files), Err)
}

/// Puts a log into its place, unless a longer one is there: it was captured before, when the pod had more to tell.
fn keep(scratch: &Scratch, path: &std::path::Path, relative: &str) -> io::Result<usize> {
    let new = std::fs::metadata(path)?.len();
    let old = std::fs::symlink_metadata(scratch.place(relative)).map(|old| old.len()).ok();
    if old.is_some_and(|old| old > new) {
        std::fs::remove_file(path)?;
        return Ok(0);
    }
    scratch.put(path, relative)?;
    Ok(1)
}

#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error("{0}")]
    Read(io::Error),
    #[error("it was silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("{0}")]
    Write(io::Error),
}

/// Copies a log as it comes; of one that is longer than `max`, the beginning, and a line that says so.
async fn copy(stream: impl AsyncBufRead, to: &mut impl Write, max: u64) -> Result<(), CopyError> {
    let mut stream = pin!(stream);
    let mut left = max;
    loop {
        let piece = tokio::time::timeout(SILENCE, stream.fill_buf()).await.map_err(|_| CopyError::Silent)?;
        let piece = piece.map_err(CopyError::Read)?;
        if piece.is_empty() {
            return Ok(());
        }
        let taken = piece.len();
        let kept = piece.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(piece);
        // The page cache takes pieces of a few KiB faster than another thread could be told of them.
        to.write_all(kept).map_err(CopyError::Write)?;
        if kept.len() < taken {
            let note = format!("\n[the log goes on: only its first {} MiB are kept here]\n", max >> 20);
            return to.write_all(note.as_bytes()).map_err(CopyError::Write);
        }
        left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        stream.as_mut().consume(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_container_of_a_pod_has_a_log() {
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "c"}],
            "initContainers": [{"name": "i"}], "ephemeralContainers": null}});
        let pod = read_pod(&pod).unwrap().unwrap();
        assert_eq!((pod.identity.as_str(), pod.containers.join(" ").as_str()), ("n/p", "i c"));
    }

    #[test]
    fn evicted_pods_have_none_and_names_are_checked() {
        assert_eq!(read_pod(&json!({"status": {"reason": "Evicted"}})), Ok(None));
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "../../x"}]}});
        assert!(read_pod(&pod).unwrap_err().contains("../../x"));
        assert!(read_pod(&json!(null)).is_err());
    }

    #[tokio::test]
    async fn a_log_without_end_is_cut_and_says_so() {
        let mut kept = Vec::new();
        copy(futures_util::io::Cursor::new(vec![b'x'; 3 << 20]), &mut kept, 1 << 20).await.unwrap();
        let (log, note) = kept.split_at(1 << 20);
        assert!(log.iter().all(|&b| b == b'x'));
        assert_eq!(note, b"\n[the log goes on: only its first 1 MiB are kept here]\n");
        let mut whole = Vec::new();
        copy(futures_util::io::Cursor::new(b"abc".to_vec()), &mut whole, 3).await.unwrap();
        assert_eq!(whole, b"abc");
    }

    #[test]
    fn a_longer_log_stays() {
        let out = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(out.path()).unwrap();
        scratch.write("podlogs/n/p/logs/c.txt", b"first and second").unwrap();
        for (text, files) in [("second", 0), ("first and second and third", 1)] {
            let path = scratch.path();
            std::fs::write(&path, text).unwrap();
            assert_eq!(keep(&scratch, &path, "podlogs/n/p/logs/c.txt").unwrap(), files);
        }
        let kept = std::fs::read_to_string(out.path().join("podlogs/n/p/logs/c.txt")).unwrap();
        assert_eq!(kept, "first and second and third");
    }

    #[test]
    fn times_are_rounded_down_and_bytes_bounded() {
        let options = PodLogOptions {
            since_time: Some("2026-01-01T00:00:00.9Z".parse().unwrap()),
            limit_bytes: Some(i64::MAX),
            ..PodLogOptions::default()
        };
        let params = params(&options, "c");
        assert_eq!(params.since_time.unwrap().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(params.limit_bytes, Some((64 << 20) + 1));
    }
}

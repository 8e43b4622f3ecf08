//! Collects the logs of pods.

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
use tokio::time::Instant;

use super::fetch::Fetch;
use super::options::{PodLogOptions, QueryOptions};
use super::podlog_pods::{Pod, choose};
use super::record::{Recorder, not_written};
use super::scratch::Scratch;
use crate::error::chain;

/// Maximum size of one container's log in bytes. A container in a crash loop must not produce an
/// archive that nobody can open.
const MAX_LOG: u64 = 64 << 20;

/// How long a log may be silent before its end. It is a file on the node, so it normally arrives at
/// once.
const SILENCE: Duration = Duration::from_secs(60);

/// Timeout for reading one log.
const WITHIN: Duration = Duration::from_secs(600);

/// Containers read at once. The throttle limits it further.
const AT_ONCE: usize = 8;

/// Collects the logs that `options` select. Failures are recorded for each container.
pub(super) async fn pod_logs(
    fetch: &Fetch,
    record: &Recorder<'_>,
    scratch: &Arc<Scratch>,
    options: &QueryOptions,
    namespaces: &[String],
    away: &BTreeSet<String>,
) {
    let pods = choose(fetch, record, options, namespaces).await;
    let mut logs = Vec::new();
    for pod in &pods {
        if away.contains(&pod.node) {
            let (name, node) = (&pod.name, &pod.node);
            let why = format!("not asked for the logs of pod `{name}`: its node `{node}` is not ready");
            record.problem("podlogs", &pod.namespace, why);
            continue;
        }
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

fn params(options: &PodLogOptions, container: &str) -> LogParams {
    let max = i64::try_from(MAX_LOG).unwrap_or(i64::MAX);
    LogParams {
        container: Some(container.to_owned()),
        previous: options.previous,
        since_seconds: options.since_seconds,
        // The client rounds to the nearest second. Rounding up would lose lines of the first
        // second.
        since_time: options.since_time.and_then(|at| Timestamp::from_second(at.as_second()).ok()),
        timestamps: options.timestamps,
        tail_lines: options.tail_lines,
        // One byte more shows whether the log is longer.
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
    // The part that was read is kept, and the failure is recorded.
    broken.map_or(Ok(files), Err)
}

/// Moves a log to its final path, unless a longer one exists. That one was captured earlier, when
/// the pod had a longer log.
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

/// Copies a log. If it is longer than `max`, only its beginning is copied, followed by a note.
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
        // Writing a few KiB to the page cache is faster than handing them to another thread.
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

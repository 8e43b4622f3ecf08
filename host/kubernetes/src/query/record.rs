//! Records queries, their durations and their errors.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

/// The summary of a survey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of queries, including failed ones.
    pub queries: usize,
    /// Number of files written.
    pub files: usize,
    /// The failures, in the order of their occurrence.
    pub errors: Vec<QueryError>,
    /// The duration of the survey.
    pub duration: Duration,
}

/// A failed query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{query}{}: {message}", in_namespace(namespace))]
pub struct QueryError {
    /// The query: the plural name of a resource, `podlogs`, `hosts/NODE`, `discovery`, and so on.
    pub query: String,
    /// The namespace, or empty for all or none.
    pub namespace: String,
    /// The error message.
    pub message: String,
}

fn in_namespace(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!(" in namespace `{namespace}`") }
}

/// The progress of a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Number of finished queries.
    pub queries: usize,
    /// Number of failed queries.
    pub errors: usize,
    /// The latest query.
    pub latest: String,
}

/// The query that means the survey as a whole.
pub(super) const SURVEY: &str = "survey";

/// One line of `meta/query-time.json`.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    queryobj: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    /// The pod whose log was queried.
    #[serde(skip_serializing_if = "String::is_empty")]
    pod: String,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Message>,
}

/// An error as written to the file. Sonobuoy writes an empty object here.
#[derive(Debug, Clone, Serialize)]
struct Message {
    message: String,
}

pub(super) struct Recorder<'a> {
    kept: Mutex<Records>,
    observer: &'a (dyn Fn(&Progress) + Sync),
    began: Instant,
}

#[derive(Default)]
struct Records {
    entries: Vec<Entry>,
    failed: usize,
    files: usize,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(observer: &'a (dyn Fn(&Progress) + Sync)) -> Self {
        Self { kept: Mutex::default(), observer, began: Instant::now() }
    }

    /// Records a finished query, with its number of files or its error.
    pub(super) fn query(&self, query: &str, namespace: &str, began: Instant, result: Result<usize, String>) {
        self.record(query, namespace, "", began, result);
    }

    /// Records a finished query for a log of one pod.
    pub(super) fn pod_log(&self, namespace: &str, pod: &str, began: Instant, result: Result<usize, String>) {
        self.record("podlogs", namespace, pod, began, result);
    }

    fn record(&self, query: &str, namespace: &str, pod: &str, began: Instant, result: Result<usize, String>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let error = match result {
            Ok(files) => {
                kept.files += files;
                None
            }
            Err(message) => {
                tracing::warn!(query, namespace, "query failed: {message}");
                kept.failed += 1;
                Some(Message { message })
            }
        };
        let time = go_duration(began.elapsed());
        let (queryobj, pod) = (query.to_owned(), pod.to_owned());
        kept.entries.push(Entry { queryobj, namespace: namespace.to_owned(), pod, time, error });
        let latest = if namespace.is_empty() { query.to_owned() } else { format!("{query} in {namespace}") };
        let progress = Progress { queries: kept.entries.len(), errors: kept.failed, latest };
        drop(kept);
        (self.observer)(&progress);
    }

    pub(super) fn problem(&self, query: &str, namespace: &str, message: impl Into<String>) {
        self.query(query, namespace, Instant::now(), Err(message.into()));
    }

    pub(super) fn wrote(&self, files: usize) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).files += files;
    }

    pub(super) fn query_times(&self) -> impl Serialize + use<> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).entries.clone()
    }

    pub(super) fn summary(self) -> Summary {
        let duration = self.began.elapsed();
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let queries = kept.entries.len();
        let error_of = |Entry { queryobj: query, namespace, error, .. }: Entry| {
            Some(QueryError { query, namespace, message: error?.message })
        };
        let errors = kept.entries.into_iter().filter_map(error_of).collect();
        Summary { queries, files: kept.files, errors, duration }
    }
}

/// Returns the content of `meta/query-time.json` until a survey replaces it at its end. Without it,
/// nobody could tell an interrupted survey from none.
pub(super) fn unfinished() -> impl Serialize {
    [Entry {
        queryobj: SURVEY.to_owned(),
        namespace: String::new(),
        pod: String::new(),
        time: go_duration(Duration::ZERO),
        error: Some(Message { message: "the survey did not finish".to_owned() }),
    }]
}

pub(super) fn not_written(path: &Path, error: &dyn std::error::Error) -> String {
    format!("failed to write `{}`: {}", path.display(), crate::error::chain(error))
}

/// Formats a duration as Go does, because readers of `query-time.json` parse that: `9.8007ms`,
/// `1m2.5s`, `1h0m0s`.
#[must_use]
pub fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    for (unit, size) in [("ns", 1_u128), ("µs", 1_000), ("ms", 1_000_000)] {
        if nanos < size * 1000 {
            return format!("{}{unit}", decimal(nanos, size));
        }
    }
    let (hours, minutes) = (duration.as_secs() / 3600, duration.as_secs() / 60 % 60);
    let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Returns `nanos / size` without trailing zeros. `size` is a power of ten.
fn decimal(nanos: u128, size: u128) -> String {
    let (whole, rest) = (nanos / size, nanos % size);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = usize::try_from(size.ilog10()).unwrap_or_default();
    format!("{whole}.{}", format!("{rest:0digits$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_readers_parse_them() {
        for (nanos, text) in [
            (0, "0s"),
            (800, "800ns"),
            (1_500, "1.5µs"),
            (9_800_700, "9.8007ms"),
            (999_999_999, "999.999999ms"),
            (1_000_000_000, "1s"),
            (62_500_000_000, "1m2.5s"),
            (300_000_000_000, "5m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (90_061_000_000_000, "25h1m1s"),
        ] {
            assert_eq!(go_duration(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn errors_can_be_read() {
        let recorder = Recorder::new(&|_| {});
        recorder.query("nodes", "", Instant::now(), Ok(1));
        recorder.problem("pods", "x", "no");
        recorder.pod_log("x", "p", Instant::now(), Ok(1));
        let text = serde_json::to_string(&recorder.query_times()).unwrap();
        assert!(text.contains(r#""namespace":"x""#) && text.contains(r#""error":{"message":"no"}"#), "{text}");
        assert!(!text.contains(r#""namespace":"","#) && !text.contains(r#""pod":"","#), "{text}");
        assert!(text.contains(r#""queryobj":"podlogs","namespace":"x","pod":"p","#), "{text}");
        let summary = recorder.summary();
        assert_eq!((summary.queries, summary.files), (3, 2));
        assert_eq!(summary.errors.first().unwrap().to_string(), "pods in namespace `x`: no");
    }
}

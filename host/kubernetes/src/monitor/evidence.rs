//! Collects evidence for a missing result: the events of the pod, or of the DaemonSet that made none,
//! and the last lines of its logs.

use std::time::Duration;

use kube::core::Request as Path;
use kube::core::params::ListParams;
use plumbline_core::ledger::ErrorRecord;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::assess::{Kind, quote};
use super::capture::Log;
use super::tracked::Verdict;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::events::COMPONENT;
use crate::names;
use crate::pod_view::{PodView, text_at};
use crate::retry::get;

/// Timeout for collecting. Evidence that is not available by then is left out, because the error
/// matters more.
const TIME: Duration = Duration::from_secs(20);

/// Number of events to keep, and to request in order to get the last ones.
const EVENTS: usize = 20;
const EVENTS_READ: u32 = 500;

/// Maximum size of a pod in the record, in bytes. This is many times the size of real pods. The
/// journal of the run stores each one.
const MAX_POD_BYTES: usize = 256 << 10;

/// Maximum length of a warning within the sentence, in characters. The record contains the whole
/// event.
const MAX_WARNING: usize = 500;

/// Maximum number of containers whose logs are kept.
const MAX_CONTAINERS: usize = 20;

/// Log messages of Plumbline's workers at the start, and when the aggregator is unreachable. A
/// worker that logs none of them is not Plumbline's.
const OUR_WORKERS_SAY: [&str; 3] = ["worker started", "reach the aggregator", "the aggregator rejected this worker"];

#[derive(Debug, Default)]
pub(super) struct Evidence {
    events: Vec<Value>,
    /// The logs by container: `last`, and for restarted containers also `previous`.
    logs: Map<String, Value>,
    /// What could not be collected, and why.
    missing: Vec<String>,
}

/// Collects the available evidence. `is_reachable` says whether the kubelet, which serves the logs,
/// is expected to answer.
pub(super) async fn gather(cluster: &Cluster, namespace: &str, pod: &PodView, is_reachable: bool) -> Evidence {
    let mut evidence = Evidence::default();
    let deadline = Instant::now() + TIME;
    let all = async {
        match events(cluster, namespace, &pod.name, &pod.uid).await {
            Ok(events) => evidence.events = events,
            Err(error) => evidence.missing.push(error.to_string()),
        }
        let containers = pod.containers.iter().filter(|container| is_reachable && container.has_run());
        for container in containers.take(MAX_CONTAINERS) {
            let mut found = Map::new();
            for (key, previous) in [("last", false), ("previous", true)] {
                if previous && container.restarts == 0 {
                    continue;
                }
                let log = Log { namespace, pod: &pod.name, container: &container.name, previous };
                match log.tail(cluster).await {
                    Ok(text) => drop(found.insert(key.to_owned(), text.into())),
                    Err(error) => evidence.missing.push(error.to_string()),
                }
            }
            evidence.logs.insert(container.name.clone(), Value::Object(found));
        }
    };
    if timeout_at(deadline, all).await.is_err() {
        evidence.missing.push(format!("the rest did not arrive within {} s", TIME.as_secs()));
    }
    evidence
}

/// Collects the events of the DaemonSet that made no pod, because they say why: a policy, a webhook or
/// a quota rejected it.
pub(super) async fn gather_of_daemon_set(cluster: &Cluster, namespace: &str, name: &str) -> Evidence {
    let mut evidence = Evidence::default();
    match timeout_at(Instant::now() + TIME, events(cluster, namespace, name, "")).await {
        Ok(Ok(events)) => evidence.events = events,
        Ok(Err(error)) => evidence.missing.push(error.to_string()),
        Err(_) => evidence.missing.push(format!("its events did not arrive within {} s", TIME.as_secs())),
    }
    evidence
}

/// Returns the last events of an object, newest last, reduced to the fields that a person reads.
async fn events(cluster: &Cluster, namespace: &str, name: &str, uid: &str) -> Result<Vec<Value>, ClusterError> {
    let what = format!("list the events of `{name}` in namespace `{namespace}`");
    let mut fields = format!("involvedObject.name={name}");
    // The server assigns the UID. Other characters could inject another field.
    if !uid.is_empty() && uid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        fields = format!("{fields},involvedObject.uid={uid}");
    }
    let params = ListParams::default().fields(&fields).limit(EVENTS_READ);
    let request = Path::new(format!("/api/v1/namespaces/{namespace}/events")).list(&params);
    let list = get(cluster, &what, request).await?;
    Ok(last_events(&list))
}

fn last_events(list: &Value) -> Vec<Value> {
    let items = list.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Skip Plumbline's own events, because the record contains the same information.
    let others = items.iter().filter(|event| event.pointer("/source/component").is_none_or(|own| own != COMPONENT));
    let mut events: Vec<(String, Value)> = others.map(|event| (time(event), brief(event))).collect();
    // The times are RFC 3339 in UTC from one server, so string order is time order.
    events.sort_by(|a, b| a.0.cmp(&b.0));
    let skip = events.len().saturating_sub(EVENTS);
    events.into_iter().skip(skip).map(|(_, event)| event).collect()
}

fn time(event: &Value) -> String {
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let mut times = times.into_iter().map(|path| text_at(event, path));
    times.find(|time| !time.is_empty()).unwrap_or_default().to_owned()
}

fn brief(event: &Value) -> Value {
    let mut brief = Map::new();
    brief.insert("time".to_owned(), time(event).into());
    for (key, path) in [("type", "/type"), ("reason", "/reason"), ("message", "/message"), ("count", "/count")] {
        if let Some(value @ (Value::String(_) | Value::Number(_))) = event.pointer(path) {
            brief.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(brief)
}

/// What the log says of a worker that never contacted the aggregator.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerSays {
    /// It is Plumbline's worker, with the reason if the log contains one.
    Ours(Option<String>),
    /// It is another worker, which never contacts the aggregator before its result.
    Foreign,
    /// Its log is unreadable or empty, so the kind of worker is unknown.
    Nothing,
}

impl Evidence {
    /// Returns what the worker's log says about why it never contacted the aggregator.
    pub(super) fn worker_says(&self) -> WorkerSays {
        let log = self.logs.get(names::WORKER_CONTAINER).and_then(|log| log.get("last")).and_then(Value::as_str);
        let Some(log) = log.filter(|log| !log.trim().is_empty()) else { return WorkerSays::Nothing };
        let ours = |line: &&str| OUR_WORKERS_SAY.iter().any(|words| line.contains(words));
        if !log.lines().any(|line| ours(&line)) {
            return WorkerSays::Foreign;
        }
        let tells =
            |line: &&str| line.contains("reach the aggregator") || line.contains("the aggregator rejected this worker");
        // Each cause is logged once with a hint, and then repeatedly without.
        let first = log.lines().rev().find(|line| tells(line) && !line.contains("still failing to reach"));
        let line = first.or_else(|| log.lines().rev().find(tells));
        WorkerSays::Ours(line.map(without_head))
    }

    /// Returns true if the pod's last event is the start of an image pull. The kubelet reports a
    /// failed pull with another event.
    ///
    /// Event times are whole seconds, and another container may have started in the same second.
    pub(super) fn is_pulling(&self) -> bool {
        let Some(last) = self.events.last().map(|event| text_at(event, "/time")) else { return false };
        let mut of_last = self.events.iter().rev().take_while(|event| text_at(event, "/time") == last);
        of_last.clone().any(|event| text_at(event, "/reason") == "Pulling")
            && !of_last.any(|event| text_at(event, "/type") == "Warning")
    }

    /// Returns `REASON: MESSAGE` of the last warning, in one line.
    fn last_warning(&self) -> Option<String> {
        let event = self.events.iter().rev().find(|event| text_at(event, "/type") == "Warning")?;
        let line = format!("{}: {}", text_at(event, "/reason"), text_at(event, "/message"));
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(line.chars().take(MAX_WARNING).collect())
    }

    pub(super) fn record(self, verdict: &Verdict, sentence: &str, pod: Option<Value>) -> ErrorRecord {
        let found = match (verdict.kind, self.worker_says()) {
            (Kind::Hello, WorkerSays::Ours(Some(line))) => format!("; the worker says: {}", quote(&line)),
            (Kind::Starting, _) => self
                .last_warning()
                .map_or_else(String::new, |warning| format!("; the last warning about the pod is {}", quote(&warning))),
            (Kind::NoPod, _) => self.last_warning().map_or_else(String::new, |warning| {
                format!("; the last warning about the DaemonSet is {}", quote(&warning))
            }),
            _ => String::new(),
        };
        let mut missing = self.missing;
        let mut record = ErrorRecord::new(format!("{sentence}{found}")).with("reason", json!(verdict.kind));
        if let Some(node) = &verdict.node {
            record = record.with("node", node.as_str());
        }
        if !self.events.is_empty() {
            record = record.with("events", self.events);
        }
        if !self.logs.is_empty() {
            record = record.with("logs", self.logs);
        }
        if let Some(pod) = pod {
            let with_pod = record.clone().with("pod", pod.clone());
            // Check that the record can be read back from the journal. A record that is nested too
            // deeply would block all others.
            let readable = ErrorRecord::from_json(with_pod.to_error_json().to_string().as_bytes()).is_ok();
            if readable && pod.to_string().len() <= MAX_POD_BYTES {
                record = with_pod;
            } else {
                missing.push("the pod is left out: it is larger than 256 KiB, or nested too deeply".to_owned());
                let metadata = json!({"name": verdict.pod.as_ref().map(|pod| &pod.name)});
                record = record.with("pod", json!({"metadata": metadata}));
            }
        }
        if missing.is_empty() { record } else { record.with("notGathered", missing) }
    }
}

/// Returns the message of a worker's log line, without the time, the level, and the words that the
/// sentence already contains.
fn without_head(line: &str) -> String {
    let cause = line.split_once("reach the aggregator; retrying cause=").map(|(_, cause)| cause);
    let text = cause.unwrap_or(line).trim();
    match text.split_once(" hint=") {
        Some((text, hint)) => format!("{text} ({})", hint.trim_matches('"')),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

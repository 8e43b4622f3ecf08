//! What helps to understand why a result will not arrive: the pod's events, and the last lines of its logs.

use std::time::Duration;

use kube::core::Request as Path;
use kube::core::params::ListParams;
use plumbline_core::ledger::ErrorRecord;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::assess::Kind;
use super::events::COMPONENT;
use super::index::Verdict;
use super::logs::Log;
use super::sentence;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::pod_view::PodView;

/// How long gathering may take. What is not there by then is left out: the error matters more than what explains it.
const TIME: Duration = Duration::from_secs(20);

/// Events that are told, and that are asked for to have the last of them.
const EVENTS: usize = 20;
const EVENTS_READ: u32 = 500;

/// Bytes of a pod that are told. Many times the largest that plugins have; the journal of the run keeps each.
const MAX_POD_BYTES: usize = 256 << 10;

/// Characters of a warning that become part of the sentence; the event stands beside it in full.
const MAX_WARNING: usize = 500;

/// Containers whose logs are told.
const MAX_CONTAINERS: usize = 20;

/// What our workers log when they begin, and when the aggregator cannot be reached. One that logs neither is of another make.
const OUR_WORKERS_SAY: [&str; 3] =
    ["worker started", "reach the aggregator", "the aggregator does not want this worker"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    events: Vec<Value>,
    /// By container: `last` and, of containers that were started again, `previous`.
    logs: Map<String, Value>,
    /// What could not be found, and why.
    missing: Vec<String>,
}

/// Gathers what can be had. `is_reachable`: whether the node's agent, which logs come from, may be expected to answer.
pub(super) async fn gather(cluster: &Cluster, namespace: &str, pod: &PodView, is_reachable: bool) -> Evidence {
    let mut evidence = Evidence::default();
    let deadline = Instant::now() + TIME;
    let all = async {
        match events(cluster, namespace, pod).await {
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
        evidence.missing.push(format!("the rest was not to be had within {} s", TIME.as_secs()));
    }
    evidence
}

/// The last events about a pod, the newest at the end, as little of each as a person reads.
async fn events(cluster: &Cluster, namespace: &str, pod: &PodView) -> Result<Vec<Value>, ClusterError> {
    let what = format!("list the events of pod `{}` in namespace `{namespace}`", pod.name);
    let mut fields = format!("involvedObject.name={}", pod.name);
    // As the server gave it; one with another character would be another field.
    if !pod.uid.is_empty() && pod.uid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        fields = format!("{fields},involvedObject.uid={}", pod.uid);
    }
    let params = ListParams::default().fields(&fields).limit(EVENTS_READ);
    let request = Path::new(format!("/api/v1/namespaces/{namespace}/events"))
        .list(&params)
        .map_err(|error| ClusterError::new(&what, error.to_string()))?;
    let text = cluster.client().request_text(request).await.map_err(|error| ClusterError::api(&what, &error))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| ClusterError::new(&what, error.to_string()))?;
    Ok(last_events(&list))
}

fn last_events(list: &Value) -> Vec<Value> {
    let items = list.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Our own say what the record says anyway.
    let others = items.iter().filter(|event| event.pointer("/source/component").is_none_or(|own| own != COMPONENT));
    let mut events: Vec<(String, Value)> = others.map(|event| (time(event), brief(event))).collect();
    // RFC 3339 in UTC, all from one server: the order of texts is that of times.
    events.sort_by(|a, b| a.0.cmp(&b.0));
    let skip = events.len().saturating_sub(EVENTS);
    events.into_iter().skip(skip).map(|(_, event)| event).collect()
}

fn time(event: &Value) -> String {
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let time = times.iter().find_map(|path| event.pointer(path).and_then(Value::as_str));
    time.unwrap_or_default().to_owned()
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

/// What a worker says that was not heard of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerSays {
    /// Why, if it tells.
    Ours(Option<String>),
    /// It never says hello.
    Foreign,
    /// Its log cannot be read, or is empty: whether it would say hello is not known.
    Nothing,
}

impl Evidence {
    /// What the log of a worker says about why it was not heard of.
    pub(super) fn worker_says(&self) -> WorkerSays {
        let log = self.logs.get(names::WORKER_CONTAINER).and_then(|log| log.get("last")).and_then(Value::as_str);
        let Some(log) = log.filter(|log| !log.trim().is_empty()) else { return WorkerSays::Nothing };
        let ours = |line: &&str| OUR_WORKERS_SAY.iter().any(|words| line.contains(words));
        if !log.lines().any(|line| ours(&line)) {
            return WorkerSays::Foreign;
        }
        let tells = |line: &&str| line.contains("reach the aggregator") || line.contains("does not want");
        // Each cause is told once with advice, and then again and again without.
        let first = log.lines().rev().find(|line| tells(line) && !line.contains("still cannot reach"));
        let told = first.or_else(|| log.lines().rev().find(tells));
        WorkerSays::Ours(told.map(without_head))
    }

    /// Whether the last that happened to the pod is that an image is being pulled: the kubelet tells when that fails. Times of events are
    /// whole seconds, and another container may have started in the same one.
    pub(super) fn is_pulling(&self) -> bool {
        let text = |event: &Value, key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(last) = self.events.last().map(|event| text(event, "time")) else { return false };
        let of_last = self.events.iter().rev().take_while(|event| text(event, "time") == last);
        of_last.clone().any(|event| text(event, "reason") == "Pulling")
            && !of_last.clone().any(|event| text(event, "type") == "Warning")
    }

    /// `REASON: MESSAGE` of the last warning about the pod, in one line.
    fn last_warning(&self) -> Option<String> {
        let text = |event: &Value, key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let event = self.events.iter().rev().find(|event| text(event, "type") == "Warning")?;
        let line = format!("{}: {}", text(event, "reason"), text(event, "message"));
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(line.chars().take(MAX_WARNING).collect())
    }

    /// The record of a result that will not arrive.
    pub(super) fn record(self, verdict: &Verdict, sentence: &str, pod: Option<Value>) -> ErrorRecord {
        let sentence = match self.worker_says() {
            WorkerSays::Ours(Some(line)) if verdict.kind == Kind::Hello => sentence::hello_says(sentence, &line),
            _ => match self.last_warning().filter(|_| verdict.kind == Kind::Starting) {
                Some(warning) => sentence::starting_says(sentence, &warning),
                None => sentence.to_owned(),
            },
        };
        let mut missing = self.missing;
        let mut record = ErrorRecord::new(sentence).with("reason", verdict.kind.word());
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
            let told = record.clone().with("pod", pod.clone());
            // As it will be read back: from the journal, where a record that is nested too deeply would be in the way of all others.
            let readable = ErrorRecord::from_json(told.to_error_json().to_string().as_bytes()).is_ok();
            if readable && pod.to_string().len() <= MAX_POD_BYTES {
                record = told;
            } else {
                missing.push("the pod is left out: it is larger than 256 KiB, or nested too deeply".to_owned());
                let metadata = json!({"name": verdict.pod.as_ref().map(|pod| &pod.name)});
                record = record.with("pod", json!({"metadata": metadata}));
            }
        }
        if missing.is_empty() { record } else { record.with("notGathered", missing) }
    }
}

/// What a line of a worker's log says: without the time, the level and the words that the sentence around it has already.
fn without_head(line: &str) -> String {
    let cause = line.split_once("reach the aggregator; trying again cause=").map(|(_, cause)| cause);
    let told = cause.unwrap_or(line).trim();
    match told.split_once(" hint=") {
        Some((told, hint)) => format!("{told} ({})", hint.trim_matches('"')),
        None => told.to_owned(),
    }
}

#[cfg(test)]
mod tests;

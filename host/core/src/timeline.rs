//! The cluster timeline: what a cluster went through during a run, one JSON object per line
//! (docs/timeline.md). The recorder writes it, and reports read it as untrusted input.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::is_default;
use crate::text::{excerpt, steers_terminal};

/// The maximum length of the name of an object in bytes, as in Kubernetes.
const MAX_NAME: usize = 253;

/// The maximum length of [`TimelineEntry::name`] in characters.
const MAX_REASON: usize = 128;

/// The maximum length of [`TimelineEntry::text`] in characters.
const MAX_TEXT: usize = 300;

/// The maximum number of different errors of an entry on requests.
const MAX_ERRORS: usize = 20;

/// The maximum length of a line in bytes. Longer lines are not read.
pub const MAX_LINE: usize = 8 << 10;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimelineKind {
    /// A condition of a node, such as `Ready`, is not as on a healthy node.
    NodeCondition,
    /// A node has a taint.
    NodeTaint,
    /// A node joined the cluster.
    NodeAdded,
    /// A node was removed from the cluster.
    NodeRemoved,
    /// A container restarted, or its restart is delayed.
    Restart,
    /// The kernel killed a process for memory.
    OomKill,
    /// A pod was evicted or preempted.
    Eviction,
    /// An image could not be pulled.
    ImagePull,
    /// A pod could not be scheduled.
    Scheduling,
    /// Another warning of Kubernetes.
    Warning,
    /// Requests of the aggregator failed or were slow.
    Api,
    /// A plugin was running.
    Plugin,
    /// A note on the recording itself.
    Recording,
}

/// Whether an entry starts or ends a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The state starts.
    Start,
    /// The state ends.
    End,
}

/// Requests to the API server in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ApiRequests {
    /// The number of requests.
    pub requests: u64,
    /// The number of failed requests by status code, or `no-response`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// The longest time until the head of a response, in milliseconds.
    pub slowest_ms: u64,
}

/// An entry of the cluster timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TimelineEntry {
    /// When it happened, or happened first.
    pub time: Timestamp,
    /// When it happened last, if it happened several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What it is about.
    pub kind: TimelineKind,
    /// Whether it starts or ends a state. `None` for something that happened at one time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The condition, the taint, or the reason in the words of Kubernetes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The plugin to which the pod belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// How often it happened.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub count: u64,
    /// The requests, if it is about the API server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api: Option<ApiRequests>,
}

fn once() -> u64 {
    1
}

fn is_once(count: &u64) -> bool {
    *count == 1
}

impl TimelineEntry {
    /// Creates an entry on something that happened once.
    pub fn new(time: Timestamp, kind: TimelineKind, name: &str, text: &str) -> Self {
        Self {
            time,
            until: None,
            kind,
            change: None,
            name: excerpt(name, MAX_REASON),
            node: None,
            namespace: None,
            pod: None,
            plugin: None,
            text: excerpt(text, MAX_TEXT),
            count: 1,
            api: None,
        }
    }

    /// Sets whether it starts or ends a state.
    #[must_use]
    pub fn change(self, change: Change) -> Self {
        Self { change: Some(change), ..self }
    }

    /// Sets the node.
    #[must_use]
    pub fn on_node(self, node: Option<&str>) -> Self {
        Self { node: node.map(str::to_owned), ..self }
    }

    /// Sets the pod and its namespace.
    #[must_use]
    pub fn of_pod(self, namespace: &str, pod: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), pod: Some(pod.to_owned()), ..self }
    }

    /// Sets the plugin.
    #[must_use]
    pub fn of_plugin(self, plugin: Option<&str>) -> Self {
        Self { plugin: plugin.map(str::to_owned), ..self }
    }

    /// Sets how often it happened.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self { count: count.max(1), ..self }
    }

    /// Returns when it ended: the last time, or the only one.
    pub fn last(&self) -> Timestamp {
        self.until.map_or(self.time, |until| until.max(self.time))
    }

    /// Reads a line without its line break. Returns `None` if it is not an entry.
    ///
    /// Texts are made printable and shortened. Names that are too long or not printable make the
    /// line invalid, because they identify something.
    pub fn parse(line: &[u8]) -> Option<Self> {
        if line.len() > MAX_LINE {
            return None;
        }
        let mut entry: Self = serde_json::from_slice(line).ok()?;
        let names = [&entry.node, &entry.namespace, &entry.pod, &entry.plugin];
        let is_bad = |name: &String| name.is_empty() || name.len() > MAX_NAME || name.chars().any(steers_terminal);
        if names.into_iter().flatten().any(is_bad) {
            return None;
        }
        entry.name = excerpt(&entry.name, MAX_REASON);
        entry.text = excerpt(&entry.text, MAX_TEXT);
        entry.count = entry.count.max(1);
        if let Some(api) = &mut entry.api {
            let errors = std::mem::take(&mut api.errors).into_iter().take(MAX_ERRORS);
            api.errors = errors.map(|(code, count)| (excerpt(&code, MAX_REASON), count)).collect();
        }
        Some(entry)
    }

    /// Returns the entry as a line, with its line break.
    pub fn to_line(&self) -> Vec<u8> {
        // Every entry is a JSON object.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> TimelineEntry {
        let time = "2026-11-25T12:00:00Z".parse().unwrap();
        TimelineEntry::new(time, TimelineKind::NodeCondition, "Ready", "Ready is Unknown").on_node(Some("lab2"))
    }

    #[test]
    fn an_entry_has_only_the_keys_that_it_needs() {
        let line = entry().change(Change::Start).to_line();
        let want = "{\"time\":\"2026-11-25T12:00:00Z\",\"kind\":\"node-condition\",\"change\":\"start\",\"name\":\"Ready\",\"node\":\"lab2\",\"text\":\"Ready is Unknown\"}\n";
        assert_eq!(String::from_utf8(line.clone()).unwrap(), want);
        assert_eq!(TimelineEntry::parse(line.trim_ascii_end()), Some(entry().change(Change::Start)));
    }

    #[test]
    fn everything_survives_a_line() {
        let api = ApiRequests { requests: 7, errors: [("503".to_owned(), 2)].into(), slowest_ms: 1200 };
        let until = Some("2026-11-25T12:00:10Z".parse().unwrap());
        let full = TimelineEntry { until, api: Some(api), ..entry().of_pod("ns", "p").of_plugin(Some("e2e")).times(3) };
        assert_eq!(TimelineEntry::parse(full.to_line().trim_ascii_end()), Some(full));
    }

    #[test]
    fn hostile_lines_are_refused_or_made_printable() {
        let with = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value = serde_json::to_value(entry()).unwrap();
            change(&mut value);
            TimelineEntry::parse(value.to_string().as_bytes())
        };
        for (key, bad) in [
            ("node", "".into()),
            ("node", "a\u{1b}[2J".into()),
            ("pod", "x".repeat(254).into()),
            ("time", "yesterday".into()),
            ("kind", "other".into()),
            ("count", (-1).into()),
            ("count", 1.5.into()),
            ("change", "middle".into()),
        ] {
            let bad: serde_json::Value = bad;
            assert_eq!(with(&|value| value[key] = bad.clone()), None, "{key} {bad}");
        }
        let long = with(&|value| value["text"] = format!("\u{1b}[31m{}", "x".repeat(1000)).into()).unwrap();
        assert!(long.text.starts_with("\u{fffd}[31mx") && long.text.chars().count() == MAX_TEXT + 1);
        assert_eq!(with(&|value| value["count"] = 0.into()).unwrap().count, 1);
        assert!(with(&|value| value["unknown"] = true.into()).is_some());
        assert_eq!(with(&|value| value["unknown"] = "x".repeat(MAX_LINE).into()), None);
        let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
        for rubbish in [&b""[..], b"{", b"null", b"\xff\xfe", b"\0\0\0", deep.as_bytes()] {
            assert_eq!(TimelineEntry::parse(rubbish), None);
        }
    }

    #[test]
    fn many_kinds_of_errors_are_shortened() {
        let mut value = serde_json::to_value(entry()).unwrap();
        let errors: serde_json::Map<_, _> = (0..100).map(|code| (code.to_string(), 1.into())).collect();
        value["api"] = serde_json::json!({"requests": 1, "errors": errors, "slowest-ms": 1});
        let read = TimelineEntry::parse(value.to_string().as_bytes()).unwrap();
        assert_eq!(read.api.unwrap().errors.len(), MAX_ERRORS);
    }
}

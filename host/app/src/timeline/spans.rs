//! The timeline as intervals: starts and ends are paired, and indexed by what they are about.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use plumbline_core::timeline::{Change, TimelineEntry, TimelineKind};
use serde::Serialize;

/// The most notes on a recording that are kept.
const MAX_NOTES: usize = 10;

/// Something that happened in the cluster, or a state that lasted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// What it is about.
    pub kind: TimelineKind,
    /// The condition, the taint, or the reason in the words of Kubernetes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The plugin to which the pod belongs.
    #[serde(skip)]
    pub plugin: Option<String>,
    /// When it happened first, or started.
    pub from: Timestamp,
    /// When it happened last, or ended. `None` if it lasted to the end of the recording.
    #[serde(rename = "until")]
    pub to: Option<Timestamp>,
    /// Whether it is a state that lasted.
    #[serde(skip)]
    pub is_state: bool,
    /// How often it happened.
    pub count: u64,
    /// A sentence for people.
    pub text: String,
}

impl Span {
    pub(crate) fn of(entry: TimelineEntry) -> Self {
        Self {
            from: entry.time,
            to: Some(entry.last()),
            is_state: false,
            kind: entry.kind,
            name: entry.name,
            node: entry.node,
            namespace: entry.namespace,
            pod: entry.pod,
            plugin: entry.plugin,
            text: entry.text,
            count: entry.count,
        }
    }

    /// What it is about, and what happened.
    pub(crate) fn label(&self) -> String {
        let text = &self.text;
        match (&self.namespace, &self.pod, &self.node, self.kind) {
            (.., TimelineKind::NodeAdded | TimelineKind::NodeRemoved | TimelineKind::Api) => text.clone(),
            (Some(namespace), Some(pod), Some(node), _) => format!("pod {namespace}/{pod} on node {node}: {text}"),
            (Some(namespace), Some(pod), None, _) => format!("pod {namespace}/{pod}: {text}"),
            (Some(namespace), None, ..) => format!("namespace {namespace}: {text}"),
            (None, _, Some(node), _) => format!("node {node}: {text}"),
            (None, _, None, _) => text.clone(),
        }
    }

    /// Whether any part of it is in the interval.
    pub(super) fn overlaps(&self, from: Timestamp, to: Timestamp) -> bool {
        self.from <= to && self.to.is_none_or(|end| end >= from)
    }
}

/// When a plugin ran. Without an end, it ran to the end of the recording.
pub(crate) type Window = (Timestamp, Option<Timestamp>);

/// The cluster timeline of an archive. Empty for an archive without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Everything, ordered by start.
    pub spans: Vec<Arc<Span>>,
    /// What the recording says about itself, such as missing permissions.
    pub notes: Vec<String>,
    /// The number of lines that are not entries.
    pub unread: u64,
    pub(crate) windows: HashMap<String, Window>,
    pub(crate) of_nodes: HashMap<String, Indexed>,
    pub(crate) of_namespaces: HashMap<String, Indexed>,
    pub(crate) of_plugins: HashMap<String, Indexed>,
}

/// The numbers of the spans on one subject, ordered by start: states, and the others. States may
/// have started long before a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub(super) states: Vec<usize>,
    pub(super) moments: Vec<usize>,
}

impl Indexed {
    fn add(&mut self, number: usize, span: &Span) {
        if span.is_state { self.states.push(number) } else { self.moments.push(number) }
    }
}

impl Timeline {
    /// Whether it has nothing that could be related to a failure or shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns when the first plugin started, and the last time in the recording.
    pub(crate) fn bounds(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let of_spans = self.spans.iter().map(|span| span.to.unwrap_or(span.from).max(span.from));
        let of_plugins = self.windows.values().map(|(start, end)| end.unwrap_or(*start));
        (self.windows.values().map(|(start, _)| *start).min(), of_spans.chain(of_plugins).max())
    }
}

/// A node, a kind and a name: what a start and its end have in common.
type StateKey = (String, TimelineKind, String);

/// Makes a timeline of entries in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Builder {
    spans: Vec<Span>,
    open: BTreeMap<StateKey, usize>,
    windows: HashMap<String, Window>,
    notes: Vec<String>,
    pub(super) unread: u64,
}

impl Builder {
    pub(super) fn add(&mut self, entry: TimelineEntry) {
        match (entry.kind, entry.change) {
            (TimelineKind::Plugin, change) => self.plugin(entry, change),
            (TimelineKind::Recording, _) => {
                if entry.name != "resumed" && self.notes.len() < MAX_NOTES {
                    self.notes.push(entry.text);
                }
            }
            (_, Some(change)) => self.state(entry, change),
            (TimelineKind::NodeRemoved, None) => {
                if let Some(node) = &entry.node {
                    self.close_all(node, entry.time);
                }
                self.spans.push(Span::of(entry));
            }
            (_, None) => self.spans.push(Span::of(entry)),
        }
    }

    /// A plugin that continues after a restart of the aggregator is launched again.
    fn plugin(&mut self, entry: TimelineEntry, change: Option<Change>) {
        let (Some(plugin), Some(change)) = (entry.plugin, change) else { return };
        match change {
            Change::Start => self.windows.entry(plugin).or_insert((entry.time, None)).1 = None,
            Change::End => {
                if let Some(window) = self.windows.get_mut(&plugin) {
                    window.1 = Some(entry.time.max(window.0));
                }
            }
        }
    }

    fn state(&mut self, entry: TimelineEntry, change: Change) {
        let Some(node) = entry.node.clone() else { return };
        let key = (node, entry.kind, entry.name.clone());
        match change {
            Change::Start if self.open.contains_key(&key) => {}
            Change::Start => {
                self.open.insert(key, self.spans.len());
                self.spans.push(Span { to: None, is_state: true, ..Span::of(entry) });
            }
            Change::End => {
                if let Some(span) = self.open.remove(&key).and_then(|at| self.spans.get_mut(at)) {
                    span.to = Some(entry.time.max(span.from));
                }
            }
        }
    }

    fn close_all(&mut self, node: &str, at: Timestamp) {
        let first = (node.to_owned(), TimelineKind::NodeCondition, String::new());
        let of_node = self.open.range(first..).take_while(|((open, ..), _)| open == node);
        let keys: Vec<(StateKey, usize)> = of_node.map(|(key, span)| (key.clone(), *span)).collect();
        for (key, span) in keys {
            self.open.remove(&key);
            if let Some(span) = self.spans.get_mut(span) {
                span.to = Some(at.max(span.from));
            }
        }
    }

    pub(super) fn finish(self) -> Timeline {
        let Self { mut spans, windows, notes, unread, .. } = self;
        spans.sort_by_key(|span| span.from);
        let mut timeline = Timeline { windows, notes, unread, ..Timeline::default() };
        for (number, span) in spans.into_iter().enumerate() {
            if let Some((index, subject)) = timeline.place(&span) {
                index.entry(subject).or_default().add(number, &span);
            }
            timeline.spans.push(Arc::new(span));
        }
        timeline
    }
}

impl Timeline {
    /// Where a span belongs: to the plugin whose pod it is about, or to its namespace, or to its
    /// node. What happened to a pod says nothing about other pods on its node.
    fn place(&mut self, span: &Span) -> Option<(&mut HashMap<String, Indexed>, String)> {
        match (&span.plugin, &span.namespace, &span.node, span.kind) {
            (.., TimelineKind::Api) => None,
            (Some(plugin), ..) => Some((&mut self.of_plugins, plugin.clone())),
            (None, Some(namespace), ..) => Some((&mut self.of_namespaces, namespace.clone())),
            (None, None, Some(node), _) => Some((&mut self.of_nodes, node.clone())),
            (None, None, None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn entry(second: i64, kind: TimelineKind, name: &str) -> TimelineEntry {
        TimelineEntry::new(at(second), kind, name, "text").on_node(Some("n1"))
    }

    fn state(second: i64, name: &str, change: Change) -> TimelineEntry {
        entry(second, TimelineKind::NodeCondition, name).change(change)
    }

    fn timeline(entries: impl IntoIterator<Item = TimelineEntry>) -> Timeline {
        let mut builder = Builder::default();
        entries.into_iter().for_each(|entry| builder.add(entry));
        builder.finish()
    }

    fn lines(timeline: &Timeline) -> Vec<String> {
        let end = |span: &Span| span.to.map_or("…".to_owned(), |to| to.as_second().to_string());
        timeline.spans.iter().map(|span| format!("{} {}-{}", span.name, span.from.as_second(), end(span))).collect()
    }

    #[test]
    fn starts_and_ends_are_paired() {
        let read = timeline([
            state(20, "Ready", Change::Start),
            state(10, "DiskPressure", Change::Start),
            // A restarted aggregator may record a start again.
            state(25, "Ready", Change::Start),
            state(30, "Ready", Change::End),
            state(31, "Ready", Change::End),
            state(40, "Ready", Change::Start),
            // An end before its start is a clock that was set.
            state(35, "Ready", Change::End),
            state(50, "PIDPressure", Change::Start),
        ]);
        assert_eq!(lines(&read), ["DiskPressure 10-…", "Ready 20-30", "Ready 40-40", "PIDPressure 50-…"]);
        assert_eq!(read.of_nodes["n1"].states, [0, 1, 2, 3]);
    }

    #[test]
    fn the_states_of_a_removed_node_end() {
        let other = state(10, "Ready", Change::Start).on_node(Some("n2"));
        let gone = entry(30, TimelineKind::NodeRemoved, "");
        let read = timeline([state(10, "Ready", Change::Start), state(20, "DiskPressure", Change::Start), other, gone]);
        assert_eq!(lines(&read), ["Ready 10-30", "Ready 10-…", "DiskPressure 20-30", " 30-30"]);
    }

    #[test]
    fn a_plugin_runs_until_its_last_end() {
        let plugin =
            |second, change| entry(second, TimelineKind::Plugin, "").on_node(None).of_plugin(Some("p")).change(change);
        let read = timeline([plugin(10, Change::Start), plugin(20, Change::End), plugin(30, Change::Start)]);
        assert_eq!(read.windows["p"], (at(10), None));
        let read = timeline([plugin(10, Change::End), plugin(20, Change::Start), plugin(30, Change::End)]);
        assert_eq!((read.windows["p"], read.is_empty()), ((at(20), Some(at(30))), true));
    }

    #[test]
    fn each_span_belongs_to_one_subject() {
        let pod = entry(1, TimelineKind::Warning, "a").of_pod("ns", "p");
        let own = entry(2, TimelineKind::OomKill, "b").of_pod("ns", "p").of_plugin(Some("scan"));
        let api = TimelineEntry::new(at(3), TimelineKind::Api, "c", "");
        let note = TimelineEntry::new(at(4), TimelineKind::Recording, "full", "it is full");
        let read = timeline([pod, own, api, note, entry(5, TimelineKind::OomKill, "d")]);
        assert_eq!((&read.of_namespaces["ns"].moments, &read.of_plugins["scan"].moments), (&vec![0], &vec![1]));
        assert_eq!((&read.of_nodes["n1"].moments, read.spans.len()), (&vec![3], 4));
        assert_eq!(read.notes, ["it is full"]);
    }
}

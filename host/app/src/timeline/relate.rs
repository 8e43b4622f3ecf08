//! Relates failures to what happened in the cluster at the same place and time. The rules are in
//! docs/timeline.md.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plumbline_core::failures::Level;
use plumbline_core::item::{seconds, started};
use plumbline_core::rollup::is_failure;
use plumbline_core::timeline::TimelineKind;
use plumbline_core::{GLOBAL, Item};
use serde_json::Value;

use super::sentence::sentence;
use super::spans::{Indexed, Span, Timeline};

/// How far apart a failure and an event may be. The control plane notices after 40 to 50 s that a
/// node no longer answers, and a test may fail before that.
const SLACK: SignedDuration = SignedDuration::from_secs(60);

/// The most relations of a failure: the ones that explain most.
const MAX_RELATIONS: usize = 3;

/// The most events on one subject that are compared with a failure: the last ones before its end.
const MAX_COMPARED: usize = 200;

/// The most failures of a tree that are related.
const MAX_FAILURES: usize = 100_000;

/// The most bytes at the start and at the end of a text in which names are searched.
const MAX_SEARCHED: usize = 32 << 10;

/// The most texts of an item in which names are searched.
const MAX_TEXTS: usize = 8;

/// The most different names of an item that are looked up.
const MAX_NAMES: usize = 20;

/// The start of the lines with which the test framework of Kubernetes describes each node of a small
/// cluster after a failure, whatever the failure is about.
const DUMP: &str = "Logging node info for node ";

/// The starts of lines of which one ends the description of a node.
const DUMP_ENDS: [&str; 2] = ["Latency metrics for node ", "Unable to retrieve kubelet pods for node "];

/// Something that happened at the place and time of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// What happened.
    pub span: Arc<Span>,
    /// What happened, and when in relation to the failures.
    pub sentence: String,
    /// The numbers of the failures among [`Item::leaves`] of the tree, from 0.
    pub items: Vec<usize>,
}

/// The failures at the place and time of a span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Related {
    items: Vec<usize>,
    /// When the first and the last of the failures happened, if that is known.
    times: Option<(Timestamp, Timestamp)>,
}

/// Relates the failures of a tree whose items come one by one, parents before children.
pub(crate) struct Relating<'a> {
    timeline: &'a Timeline,
    plugin: &'a str,
    /// The node of the current items, and its depth.
    node: Option<(usize, String)>,
    /// The number of the next leaf.
    next: usize,
    failures: usize,
    found: BTreeMap<usize, Related>,
}

/// The place and the time of a failure.
struct FailureContext<'a> {
    node: Option<&'a str>,
    /// The names in its texts.
    names: Vec<&'a str>,
    from: Timestamp,
    to: Timestamp,
    /// Whether the times are those of the item, and not of the plugin.
    is_timed: bool,
}

impl<'a> Relating<'a> {
    pub(crate) fn new(timeline: &'a Timeline, plugin: &'a str) -> Self {
        Self { timeline, plugin, node: None, next: 0, failures: 0, found: BTreeMap::new() }
    }

    /// Adds an item. The root has depth 0.
    pub(crate) fn item(&mut self, depth: usize, item: &Item, is_leaf: bool) {
        if self.timeline.is_empty() {
            return;
        }
        self.node = self.node.take().filter(|(above, _)| *above < depth);
        if depth > 0 && Level::of(&item.meta) == Level::Node && item.name != GLOBAL {
            self.node = Some((depth, item.name.clone()));
        }
        if !is_leaf {
            return;
        }
        let number = self.next;
        self.next += 1;
        if is_failure(&item.status) && self.failures < MAX_FAILURES {
            self.failures += 1;
            self.failure(number, item);
        }
    }

    fn failure(&mut self, number: usize, item: &Item) {
        let Some((from, to, is_timed)) = self.window(item) else { return };
        let node = self.node.as_ref().map(|(_, node)| node.as_str());
        let place = FailureContext { node, names: self.names(item), from, to, is_timed };
        let mut related = self.candidates(&place);
        related.sort_by_key(|&(number, span)| (rank(span), distance(span, place.to), number));
        related.dedup_by_key(|(number, _)| *number);
        let related: Vec<usize> = related.into_iter().take(MAX_RELATIONS).map(|(number, _)| number).collect();
        for span in related {
            let found = self.found.entry(span).or_default();
            found.items.push(number);
            if is_timed {
                let (first, last) = found.times.unwrap_or((to, to));
                found.times = Some((first.min(to), last.max(to)));
            }
        }
    }

    /// When the item ran, or else when the plugin ran.
    fn window(&self, item: &Item) -> Option<(Timestamp, Timestamp, bool)> {
        if let Some(start) = started(&item.meta, &item.details) {
            let took = seconds(&item.meta).and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok());
            let end = took.and_then(|took| start.checked_add(took).ok()).unwrap_or(start);
            return Some((start, end, true));
        }
        let (start, end) = self.timeline.windows.get(self.plugin)?;
        Some((*start, end.unwrap_or(Timestamp::MAX), false))
    }

    /// The names of nodes and namespaces of the timeline in the texts of an item.
    fn names<'i>(&self, item: &'i Item) -> Vec<&'i str> {
        let details = item.details.values().filter_map(Value::as_str).take(MAX_TEXTS);
        let error = item.meta.get("error").map(String::as_str);
        let mut names: Vec<&str> = Vec::new();
        for text in details.chain(error).chain([item.name.as_str()]) {
            for name in without_dump(text).into_iter().flat_map(named) {
                let is_known =
                    || self.timeline.of_nodes.contains_key(name) || self.timeline.of_namespaces.contains_key(name);
                if names.len() < MAX_NAMES && is_known() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The spans at the place and time of a failure.
    fn candidates(&self, place: &FailureContext<'_>) -> Vec<(usize, &'a Span)> {
        let Timeline { of_nodes, of_namespaces, of_plugins, .. } = self.timeline;
        let nodes = place.node.into_iter().chain(place.names.iter().copied());
        let mut found = Vec::new();
        for index in nodes.filter_map(|node| of_nodes.get(node)) {
            self.at_the_time(index, place, &mut found);
        }
        for index in place.names.iter().filter_map(|name| of_namespaces.get(*name)) {
            self.at_the_time(index, place, &mut found);
        }
        if let Some(index) = of_plugins.get(self.plugin) {
            let mut own = Vec::new();
            self.at_the_time(index, place, &mut own);
            // A plugin for each node has a pod for each result.
            found
                .extend(own.into_iter().filter(|(_, span)| place.node.is_none() || place.node == span.node.as_deref()));
        }
        found
    }

    fn at_the_time(&self, index: &Indexed, place: &FailureContext<'_>, found: &mut Vec<(usize, &'a Span)>) {
        let slack = if place.is_timed { SLACK } else { SignedDuration::ZERO };
        let from = place.from.checked_sub(slack).unwrap_or(Timestamp::MIN);
        let to = place.to.checked_add(slack).unwrap_or(Timestamp::MAX);
        let spans = &self.timeline.spans;
        for numbers in [&index.states, &index.moments] {
            let end = numbers.partition_point(|number| spans.get(*number).is_some_and(|span| span.from <= to));
            for number in numbers.iter().take(end).rev().take(MAX_COMPARED) {
                found.extend(spans.get(*number).filter(|span| span.overlaps(from, to)).map(|span| (*number, &**span)));
            }
        }
    }

    /// Returns the relations: the ones that explain most first.
    pub(crate) fn finish(self) -> Vec<Relation> {
        let Self { timeline, plugin, found, .. } = self;
        let relation = |(number, related): (usize, Related)| {
            let span = Arc::clone(timeline.spans.get(number)?);
            let sentence = sentence(&span, related.times, related.items.len(), plugin);
            Some(Relation { span, sentence, items: related.items })
        };
        let mut relations: Vec<Relation> = found.into_iter().filter_map(relation).collect();
        relations.sort_by_key(|relation| (rank(&relation.span), Reverse(relation.items.len()), relation.span.from));
        relations
    }
}

/// How much a span explains, least first.
fn rank(span: &Span) -> u8 {
    match span.kind {
        TimelineKind::NodeRemoved => 0,
        TimelineKind::NodeCondition if span.name == "Ready" => 0,
        TimelineKind::OomKill | TimelineKind::Eviction => 1,
        TimelineKind::NodeCondition => 2,
        TimelineKind::NodeTaint | TimelineKind::Scheduling | TimelineKind::ImagePull => 3,
        TimelineKind::Restart => 4,
        _ => 5,
    }
}

/// How far a span is from the end of a failure.
fn distance(span: &Span, to: Timestamp) -> SignedDuration {
    let end = span.to.unwrap_or(Timestamp::MAX);
    if span.from > to {
        span.from.duration_since(to)
    } else if end < to {
        to.duration_since(end)
    } else {
        SignedDuration::ZERO
    }
}

/// Returns the text before and after the descriptions of all nodes ([`DUMP`]).
fn without_dump(text: &str) -> [&str; 2] {
    let Some((before, dump)) = text.split_once(DUMP) else { return [text, ""] };
    let end = DUMP_ENDS.iter().filter_map(|end| dump.rfind(end)).max();
    let after = end.and_then(|end| dump.get(end..)?.split_once('\n')).map_or("", |(_, after)| after);
    [before, after]
}

/// Returns the words of a text that could be names of nodes or namespaces. A word without a digit,
/// a hyphen or a dot may be an ordinary one, such as `default`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let head_end = text.floor_char_boundary(MAX_SEARCHED);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(MAX_SEARCHED)).max(head_end);
    let parts = [text.get(..head_end), text.get(tail_start..)].into_iter().flatten();
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let words = parts.flat_map(move |part| part.split(move |c: char| !is_of_name(c)));
    let words = words.map(|word| word.trim_matches(['-', '.']));
    words.filter(|word| word.len() > 1 && word.contains(|c: char| c.is_ascii_digit() || c == '-' || c == '.'))
}

#[cfg(test)]
mod tests {
    use plumbline_core::Status;
    use plumbline_core::timeline::{Change, TimelineEntry};

    use super::super::spans::Builder;
    use super::*;
    use crate::report::testing::{leaf, node};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn condition(node: &str, from: i64, to: Option<i64>) -> Vec<TimelineEntry> {
        let entry = |second, change| {
            TimelineEntry::new(at(second), TimelineKind::NodeCondition, "Ready", "Ready is Unknown")
                .change(change)
                .on_node(Some(node))
        };
        [Some(entry(from, Change::Start)), to.map(|to| entry(to, Change::End))].into_iter().flatten().collect()
    }

    fn plugin(from: i64, to: i64) -> Vec<TimelineEntry> {
        let entry = |second, change| {
            TimelineEntry::new(at(second), TimelineKind::Plugin, "", "").change(change).of_plugin(Some("p"))
        };
        vec![entry(from, Change::Start), entry(to, Change::End)]
    }

    fn timeline(entries: Vec<Vec<TimelineEntry>>) -> Timeline {
        let mut builder = Builder::default();
        entries.into_iter().flatten().for_each(|entry| builder.add(entry));
        builder.finish()
    }

    /// A failure that started at `start` and took 10 s.
    fn failed(start: Option<i64>, text: &str) -> Item {
        let mut meta = plumbline_core::Meta::new();
        if let Some(start) = start {
            meta.insert("start".into(), at(start).to_string());
            meta.insert("duration".into(), "10".into());
        }
        let details = [("failure".to_owned(), text.into())].into_iter().collect();
        Item { meta, details, ..leaf("a test", "failed") }
    }

    fn sentences(timeline: &Timeline, items: Vec<Item>) -> Vec<String> {
        let root = Item { name: "p".into(), items, ..Item::default() };
        let mut relating = Relating::new(timeline, "p");
        let mut walk = root.walk();
        while let Some(item) = walk.next() {
            relating.item(walk.depth(), item, item.is_leaf());
        }
        relating.finish().into_iter().map(|relation| format!("{:?} {}", relation.items, relation.sentence)).collect()
    }

    #[test]
    fn failures_on_a_node_are_related_to_its_condition() {
        let timeline = timeline(vec![condition("lab2", 100, Some(300)), condition("lab3", 100, None)]);
        let items = |start: i64| (0..6).map(|n| failed(Some(start + n), "no")).collect::<Vec<_>>();
        let passed = Item { status: Status::Passed, ..failed(Some(130), "") };
        let tree = vec![node("lab1", items(130)), node("lab2", [vec![passed], items(130)].concat())];
        let want = "[7, 8, 9, 10, 11, 12] node lab2 was not ready from 40 s before these 6 failures: Ready is Unknown";
        assert_eq!(sentences(&timeline, tree), [want]);
    }

    #[test]
    fn only_what_happened_near_a_failure_is_related() {
        let timeline = timeline(vec![condition("lab2", 100, Some(200))]);
        let of = |start| sentences(&timeline, vec![node("lab2", vec![failed(Some(start), "no")])]);
        assert!(of(29).is_empty(), "the node was not ready 61 s after the failure");
        assert_eq!(of(30), ["[0] node lab2 was not ready from 1 min 0 s after this failure: Ready is Unknown"]);
        assert_eq!(of(91), ["[0] node lab2 was not ready from 1 s before this failure: Ready is Unknown"]);
        assert_eq!(
            of(260),
            ["[0] node lab2 was not ready from 2 min 50 s until 1 min 10 s before this failure: Ready is Unknown"]
        );
        assert!(of(261).is_empty());
    }

    #[test]
    fn names_in_texts_relate_tests_of_the_whole_cluster() {
        let warning = |second, namespace: &str, name: &str| {
            vec![
                TimelineEntry::new(at(second), TimelineKind::Scheduling, "FailedScheduling", name)
                    .of_pod(namespace, name)
                    .times(3),
            ]
        };
        let timeline = timeline(vec![
            condition("lab2", 100, None),
            warning(105, "pods-12", "pod-a"),
            warning(105, "default", "pod-b"),
            warning(500, "pods-12", "pod-c"),
        ]);
        let of = |text: &str| sentences(&timeline, vec![failed(Some(100), text)]);
        assert_eq!(
            of("pod on node \"lab2\"."),
            ["[0] node lab2 was not ready from 10 s before this failure: Ready is Unknown"]
        );
        assert_eq!(
            of("Destroying namespace \"pods-12\" for this suite."),
            ["[0] pod pods-12/pod-a: pod-a (3 times), 5 s before this failure"]
        );
        assert_eq!(of("pods-12/pod-a").len(), 1);
        for other in ["lab22", "xlab2", "lab2x pods-123", "the default namespace", "lab2-1", ""] {
            assert!(of(other).is_empty(), "{other}");
        }
        let both = of("lab2 pods-12 lab2");
        assert_eq!(both.len(), 2, "{both:?}");
    }

    #[test]
    fn the_description_of_all_nodes_after_a_failure_names_no_place() {
        let nodes = ["lab1", "lab2", "lab3"].map(|node| condition(node, 100, None));
        let timeline = timeline(nodes.into());
        let dump = "
Logging node info for node lab1
I1127 09:00:00 17 dump.go:113] Node Info: &Node{ObjectMeta:{lab1}}
Latency metrics for node lab1
Logging node info for node lab2
I1127 09:00:30 17 dump.go:127] Unable to retrieve kubelet pods for node lab2: timed out
";
        let of = |text: &str| {
            let relations = sentences(&timeline, vec![failed(Some(100), text)]);
            relations.iter().map(|sentence| sentence[4..13].to_owned()).collect::<Vec<_>>()
        };
        assert!(of(dump).is_empty());
        assert_eq!(of(&format!("assigned a/b to lab3{dump}")), ["node lab3"]);
        assert_eq!(of(&format!("{dump}not ready: lab2")), ["node lab2"]);
        assert!(of("Logging node info for node lab1, which is cut here").is_empty());
    }

    #[test]
    fn without_times_the_plugin_decides() {
        let of = |entries| sentences(&timeline(entries), vec![node("lab2", vec![failed(None, "lost")])]);
        let want = "[0] node lab2 was not ready while plugin p ran, from 1970-01-01T00:01:40Z: Ready is Unknown";
        assert_eq!(of(vec![plugin(50, 200), condition("lab2", 100, None)]), [want]);
        assert!(of(vec![plugin(50, 99), condition("lab2", 100, None)]).is_empty());
        assert!(of(vec![plugin(110, 200), condition("lab2", 100, Some(109))]).is_empty());
        assert!(of(vec![condition("lab2", 100, None)]).is_empty(), "no time is known");
    }

    #[test]
    fn pods_of_the_plugin_belong_to_their_node() {
        let killed = |node: &str| {
            let entry = TimelineEntry::new(at(100), TimelineKind::OomKill, "OOMKilled", "killed for memory");
            vec![entry.of_pod("ns", &format!("p-{node}")).on_node(Some(node)).of_plugin(Some("p"))]
        };
        let timeline = timeline(vec![plugin(50, 200), killed("n1"), killed("n2")]);
        let of_node = sentences(&timeline, vec![node("n2", vec![failed(None, "")])]);
        let want = "[0] pod ns/p-n2 on node n2: killed for memory, while plugin p ran, at 1970-01-01T00:01:40Z";
        assert_eq!(of_node, [want]);
        assert_eq!(sentences(&timeline, vec![failed(Some(95), "")]).len(), 2);
    }

    #[test]
    fn a_failure_has_few_relations_and_the_best_ones() {
        let mut entries = vec![condition("n-1", 95, None)];
        for second in 0..1000 {
            entries.push(vec![
                TimelineEntry::new(at(100 + second / 100), TimelineKind::Warning, "W", &second.to_string())
                    .on_node(Some("n-1")),
            ]);
        }
        let related = sentences(&timeline(entries), vec![failed(Some(100), "n-1")]);
        assert_eq!((related.len(), related[0].contains("not ready")), (MAX_RELATIONS, true), "{related:?}");
    }

    #[test]
    fn extreme_times_and_long_texts_are_harmless() {
        let mut entries = condition("n-1", 0, None);
        entries[0].time = Timestamp::MIN;
        let timeline = timeline(vec![entries]);
        let mut item = failed(Some(0), &format!("{}n-1{}", "é".repeat(40_000), "ü".repeat(40_000)));
        item.meta.insert("duration".into(), "1e300".into());
        assert!(sentences(&timeline, vec![item.clone()]).is_empty(), "the name is in the middle of a long text");
        item.details.insert("error".into(), "n-1".into());
        for start in [Timestamp::MIN, Timestamp::MAX] {
            item.meta.insert("start".into(), start.to_string());
            assert_eq!(sentences(&timeline, vec![item.clone()]).len(), 1);
        }
    }
}

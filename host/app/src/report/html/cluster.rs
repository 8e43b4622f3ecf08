//! The cluster timeline on the page: lanes for the script, and sentences next to failures.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use plumbline_core::timeline::TimelineKind;
use serde::Serialize;

use crate::report::text::{name, shortened};
use crate::timeline::{Relation, Span, Timeline};

/// The most spans in the lanes.
const MAX_SPANS: usize = 2_000;

/// The most nodes with lanes of their own.
const MAX_NODES: usize = 20;

/// The lane of the other nodes.
const OTHER_NODES: &str = "other nodes";

/// The most relations on the page, and the most failures of all of them.
const MAX_RELATIONS: usize = 5_000;
const MAX_ITEMS: usize = 200_000;

/// The most characters of a sentence on the page.
const MAX_SENTENCE: usize = 300;

/// How long before the first plugin a lane starts, in milliseconds.
const BEFORE: i64 = 60_000;

/// Something that happened in the cluster, as the script shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PageSpan {
    /// The title of the lane.
    lane: String,
    /// In milliseconds since 1970.
    from: i64,
    to: i64,
    /// Whether it may make tests fail that run there.
    bad: bool,
    label: String,
}

/// Something that happened at the place and time of failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PageRelation {
    pub(super) sentence: String,
    /// The numbers of the failed items.
    pub(super) items: Vec<u32>,
}

/// What the page shows of the cluster timeline.
#[derive(Debug, Default, Serialize)]
pub(super) struct Cluster {
    spans: Vec<PageSpan>,
    notes: Vec<String>,
    pub(super) relations: Vec<PageRelation>,
    #[serde(skip)]
    items: usize,
}

impl Cluster {
    /// Adds the timeline of an archive, which has a name if there are several.
    pub(super) fn add(&mut self, input: Option<&str>, timeline: &Timeline) {
        let prefix = input.map(|input| format!("{input}: ")).unwrap_or_default();
        let (start, end) = timeline.bounds();
        let earliest = start.map_or(i64::MIN, |start| start.as_millisecond().saturating_sub(BEFORE));
        let end = end.map_or(i64::MAX, Timestamp::as_millisecond);
        let mut nodes = HashSet::new();
        let mut spans: Vec<&Span> = timeline.spans.iter().map(|span| &**span).collect();
        // A stable sort, so that those of the same importance stay in order.
        spans.sort_by_key(|span| !is_bad(span));
        let room = MAX_SPANS.saturating_sub(self.spans.len());
        let page_span = |span: &&Span| {
            let from = span.from.as_millisecond().max(earliest);
            let times = if span.count > 1 { format!(" ({} times)", span.count) } else { String::new() };
            PageSpan {
                lane: name(&format!("{prefix}{}", lane(span, &mut nodes))),
                from,
                to: span.to.map_or(end, Timestamp::as_millisecond).max(from),
                bad: is_bad(span),
                label: shortened(&format!("{}{times}", span.label()), MAX_SENTENCE),
            }
        };
        self.spans.extend(spans.iter().take(room).map(page_span));
        let left_out = spans.len().saturating_sub(room);
        if left_out > 0 {
            self.notes.push(format!("{prefix}{left_out} more cluster events are in the archive."));
        }
        self.notes.extend(timeline.notes.iter().map(|note| name(&format!("{prefix}{note}"))));
    }

    /// Adds the relations of a tree. Returns their numbers by leaf.
    pub(super) fn relate(&mut self, relations: &[Relation]) -> HashMap<usize, Vec<u32>> {
        let mut of_leaves: HashMap<usize, Vec<u32>> = HashMap::new();
        for relation in relations {
            let Ok(number) = u32::try_from(self.relations.len()) else { break };
            if self.relations.len() >= MAX_RELATIONS {
                break;
            }
            let sentence = shortened(&relation.sentence, MAX_SENTENCE);
            self.relations.push(PageRelation { sentence, items: Vec::new() });
            relation.items.iter().for_each(|leaf| of_leaves.entry(*leaf).or_default().push(number));
        }
        of_leaves
    }

    /// Adds a failed item to its relations.
    pub(super) fn add_item(&mut self, relations: &[u32], item: u32) {
        for number in relations {
            let relation = usize::try_from(*number).ok().and_then(|number| self.relations.get_mut(number));
            if let Some(relation) = relation.filter(|_| self.items < MAX_ITEMS) {
                self.items += 1;
                relation.items.push(item);
            }
        }
    }
}

fn is_bad(span: &Span) -> bool {
    let kind = span.kind;
    matches!(
        kind,
        TimelineKind::NodeCondition | TimelineKind::NodeRemoved | TimelineKind::OomKill | TimelineKind::Eviction
    )
}

/// The title of the lane of a span.
fn lane(span: &Span, nodes: &mut HashSet<String>) -> String {
    match (span.kind, &span.node) {
        (TimelineKind::NodeCondition | TimelineKind::NodeTaint, Some(node)) => {
            if nodes.len() < MAX_NODES {
                nodes.insert(node.clone());
            }
            if nodes.contains(node) { format!("node {node}") } else { OTHER_NODES.to_owned() }
        }
        (TimelineKind::NodeAdded | TimelineKind::NodeRemoved, _) => "nodes".to_owned(),
        (TimelineKind::OomKill | TimelineKind::Eviction | TimelineKind::Restart, _) => "pods".to_owned(),
        (TimelineKind::Scheduling, _) => "scheduling".to_owned(),
        (TimelineKind::ImagePull, _) => "images".to_owned(),
        (TimelineKind::Api, _) => "API server".to_owned(),
        _ => "warnings".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plumbline_core::timeline::TimelineEntry;

    use super::*;

    fn span(node: usize, from: i64, to: Option<i64>) -> Span {
        let at = |second| Timestamp::from_second(second).unwrap();
        let entry = TimelineEntry::new(at(from), TimelineKind::NodeCondition, "Ready", "");
        let (node, text) = (Some(format!("n{node}")), "Ready is False\u{1b}".into());
        Span { node, text, to: to.map(at), is_state: true, ..Span::of(entry) }
    }

    fn timeline(spans: Vec<Span>) -> Timeline {
        Timeline {
            spans: spans.into_iter().map(Arc::new).collect(),
            notes: vec!["a note".into()],
            ..Timeline::default()
        }
    }

    #[test]
    fn lanes_are_limited() {
        let mut cluster = Cluster::default();
        let other = Span { kind: TimelineKind::Warning, ..span(0, 5, Some(5)) };
        let many = (0..3000).map(|n| span(n, 10, Some(20)));
        cluster.add(None, &timeline([vec![other], many.collect()].concat()));
        assert_eq!(cluster.spans.len(), MAX_SPANS);
        assert!(cluster.spans.iter().all(|span| span.bad), "the important ones come first");
        let lanes: std::collections::BTreeSet<&str> = cluster.spans.iter().map(|span| span.lane.as_str()).collect();
        assert_eq!((lanes.len(), lanes.contains(OTHER_NODES)), (MAX_NODES + 1, true));
        assert_eq!(cluster.notes, ["1001 more cluster events are in the archive.", "a note"]);
    }

    #[test]
    fn a_state_without_an_end_lasts_to_the_end_of_the_recording() {
        let mut cluster = Cluster::default();
        cluster.add(Some("a.tar"), &timeline(vec![span(1, 10, None), span(2, 20, Some(60))]));
        let first = &cluster.spans[0];
        assert_eq!((first.from, first.to, first.lane.as_str()), (10_000, 60_000, "a.tar: node n1"));
        assert_eq!(first.label, "node n1: Ready is False\u{fffd}");
    }

    #[test]
    fn failures_are_added_to_their_relations() {
        let mut cluster = Cluster::default();
        let relation =
            |items: Vec<usize>| Relation { span: Arc::new(span(1, 1, None)), sentence: "x".repeat(1000), items };
        let of_leaves = cluster.relate(&[relation(vec![3, 7]), relation(vec![7])]);
        assert_eq!(of_leaves[&7], [0, 1]);
        cluster.add_item(&of_leaves[&7], 100);
        cluster.add_item(&of_leaves[&3], 101);
        let items: Vec<&[u32]> = cluster.relations.iter().map(|relation| relation.items.as_slice()).collect();
        assert_eq!(items, [&[100, 101][..], &[100]]);
        assert_eq!(cluster.relations[0].sentence.chars().count(), MAX_SENTENCE + 1);
        assert_eq!(cluster.relate(&vec![relation(vec![1]); 10_000])[&1].len(), MAX_RELATIONS - 2);
    }
}

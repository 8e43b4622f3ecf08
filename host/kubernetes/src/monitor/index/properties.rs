//! Properties that hold for any observations in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_aggregator::WorkerContact;
use proptest::prelude::*;
use serde_json::Value;

use super::super::assess::Kind;
use super::super::options::{GracePeriods, Watched};
use super::super::samples::{ended, node, pod_with, running, view, waiting, watched};
use super::{Index, Now};

const NODES: [&str; 3] = ["w1", "w2", "w3"];
/// Names of pods, each created for one node. The last is on a node where no result is expected.
const PODS: [(&str, &str); 5] = [("a", "w1"), ("a2", "w1"), ("b", "w2"), ("c", "w3"), ("d", "w9")];

#[derive(Debug, Clone)]
enum Step {
    Pod(usize, usize),
    PodGone(usize),
    Node(usize, bool),
    NodeGone(usize),
    /// The watches are interrupted, some steps happen unseen, and everything is listed again.
    Relist(Vec<Step>),
    Tick,
}

fn state(number: usize) -> Value {
    match number {
        0 => running(),
        1 => waiting("ImagePullBackOff", "no such image"),
        2 => waiting("CrashLoopBackOff", "back-off"),
        3 => ended(0, "Completed"),
        4 => ended(1, "Error"),
        _ => waiting("CreateContainerConfigError", "no such secret"),
    }
}

fn change() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..PODS.len(), 0..6usize).prop_map(|(pod, state)| Step::Pod(pod, state)),
        2 => (0..PODS.len()).prop_map(Step::PodGone),
        2 => (0..NODES.len(), any::<bool>()).prop_map(|(node, ready)| Step::Node(node, ready)),
        1 => (0..NODES.len()).prop_map(Step::NodeGone),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let relist = prop::collection::vec(change(), 0..4).prop_map(Step::Relist);
    prop::collection::vec(prop_oneof![8 => change(), 1 => relist, 1 => Just(Step::Tick)], 0..30)
}

/// The actual state of the cluster.
#[derive(Debug, Default)]
struct World {
    pods: BTreeMap<usize, usize>,
    nodes: BTreeMap<usize, bool>,
}

impl World {
    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Pod(pod, state) => drop(self.pods.insert(pod, state)),
            Step::PodGone(pod) => drop(self.pods.remove(&pod)),
            Step::Node(node, ready) => drop(self.nodes.insert(node, ready)),
            Step::NodeGone(node) => drop(self.nodes.remove(&node)),
            Step::Relist(_) | Step::Tick => {}
        }
    }

    fn list(&self, index: &mut Index, now: Now) {
        index.nodes.begin_list();
        self.nodes.iter().for_each(|(&at, &ready)| index.node_applied(node(NODES[at], ready), now));
        index.nodes_listed(now);
        index.pods.begin_list();
        self.pods.iter().for_each(|(&at, &state)| index.pod_applied(pod(at, state), now));
        index.pods_listed(now);
    }
}

fn pod(at: usize, number: usize) -> crate::pod_view::PodView {
    let (name, node) = PODS[at];
    view(&pod_with(name, node, state(number), running()))
}

fn now(seconds: u64) -> Now {
    Now { at: Duration::from_secs(seconds), wall: Timestamp::UNIX_EPOCH }
}

/// Results are expected on w1, w2 and w3, and that of w3 has arrived.
fn expected(per_node: bool) -> Watched {
    let mut watched = if per_node { watched(&NODES) } else { watched(&[]) };
    watched.heard = WorkerContact::new(|_| None).with_missing(|key| key.node.as_str() != "w3");
    watched
}

fn verdicts(index: &mut Index, at: u64) -> Vec<(String, Kind)> {
    let of = index.tick(now(at)).into_iter();
    let mut all: Vec<_> = of
        .map(|verdict| {
            // Whether a pod existed before it was missing is not part of the final state.
            let kind = if verdict.kind == Kind::PodGone { Kind::NoPod } else { verdict.kind };
            (verdict.key.to_string(), kind)
        })
        .collect();
    // Verdicts come in the order of their deadlines.
    all.sort();
    all
}

proptest! {
    #[test]
    fn verdicts_depend_only_on_the_final_state(steps in steps(), per_node: bool) {
        let mut world = World::default();
        let mut index = Index::new("ns".into(), GracePeriods::default());
        world.list(&mut index, now(0));
        index.watch(expected(per_node), now(0));
        for step in &steps {
            // All steps happen within every grace period.
            let now = now(1);
            world.apply(step);
            match step {
                Step::Pod(at, state) => index.pod_applied(pod(*at, *state), now),
                Step::PodGone(at) => index.pod_removed(pod(*at, 0), "{}".into(), now),
                Step::Node(at, ready) => index.node_applied(node(NODES[*at], *ready), now),
                Step::NodeGone(at) => index.node_removed(NODES[*at], now),
                Step::Relist(unseen) => {
                    unseen.iter().for_each(|step| world.apply(step));
                    world.list(&mut index, now);
                }
                Step::Tick => prop_assert!(index.tick(now).is_empty()),
            }
        }
        let mut fresh = Index::new("ns".into(), GracePeriods::default());
        fresh.watch(expected(per_node), now(1));
        world.list(&mut fresh, now(1));
        let final_verdicts = verdicts(&mut index, 10_000);
        if !per_node && world.pods.is_empty() {
            // The node of a pod that existed is remembered, which is more specific than the absence
            // of a pod.
            let known = [Kind::NoPod, Kind::NodeGone, Kind::NodeNotReady];
            prop_assert!(matches!(&final_verdicts[..], [(key, kind)] if key == "p/global" && known.contains(kind)), "{final_verdicts:?}");
        } else {
            prop_assert_eq!(final_verdicts, verdicts(&mut fresh, 10_000));
        }
        prop_assert_eq!(index.next_deadline(), None);
    }

    #[test]
    fn a_result_is_reported_at_most_once_and_only_while_it_is_missing(steps in steps(), per_node: bool) {
        let mut world = World::default();
        let mut index = Index::new("ns".into(), GracePeriods::default());
        index.watch(expected(per_node), now(0));
        let mut seen = BTreeSet::new();
        for (n, step) in steps.iter().enumerate() {
            // Grace periods end between the steps.
            let at = n as u64 * 40;
            world.apply(step);
            match step {
                Step::Pod(at_pod, state) => index.pod_applied(pod(*at_pod, *state), now(at)),
                Step::PodGone(at_pod) => index.pod_removed(pod(*at_pod, 0), "{}".into(), now(at)),
                Step::Node(at_node, ready) => index.node_applied(node(NODES[*at_node], *ready), now(at)),
                Step::NodeGone(at_node) => index.node_removed(NODES[*at_node], now(at)),
                Step::Relist(_) => world.list(&mut index, now(at)),
                Step::Tick => {}
            }
            for (key, _) in verdicts(&mut index, at) {
                prop_assert!(key != "p/w3" && key != "p/w9");
                prop_assert!(seen.insert(key));
            }
            prop_assert!(index.next_deadline().is_none_or(|due| due > now(at).at));
        }
    }
}

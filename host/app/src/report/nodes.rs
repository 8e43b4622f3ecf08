//! What distinguishes the nodes on which something failed, and facts that differ between nodes.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::Read;
use std::rc::Rc;

use plumbline_core::Item;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::rollup::is_failure;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::report::facts::Counts;
use crate::report::text::name;
use crate::report::verdict::Rulings;

/// The most properties of a node.
const MAX_PROPERTIES: usize = 60;

/// The most nodes whose properties are kept.
const MAX_NODES: usize = 10_000;

/// The most nodes with results in a tree. Further ones are left out, so that a hostile tree cannot
/// exhaust the memory.
const MAX_RESULTS: usize = 100_000;

/// The most characters of the key of a property. The key of a label has at most 317.
const MAX_KEY: usize = 400;

/// The most characters of the value of a property.
const MAX_VALUE: usize = 120;

/// The most properties in a list of what distinguishes nodes.
const MAX_LISTED: usize = 5;

/// By how much the share of failed nodes with a property must exceed that of the other nodes.
const MIN_DIFFERENCE: f64 = 0.5;

/// The most values, and the most nodes with a value, in a table of facts.
pub(crate) const MAX_VALUES: usize = 5;

/// The file of the machine's facts, whose groups are properties of the node.
const FACTS_FILE: &str = "host-facts.json";

/// A key and its value.
type Property = (Rc<str>, Rc<str>);

/// The nodes with results of a plugin, in the order of its tree, and whether something that counts
/// failed on each.
pub(crate) type NodeResults = Vec<(Rc<str>, bool)>;

/// What is known about nodes: labels and versions from the cluster, and facts of the machine.
#[derive(Default)]
pub(crate) struct Nodes {
    properties: BTreeMap<Rc<str>, Vec<Property>>,
    strings: HashSet<Rc<str>>,
    is_facts: bool,
    /// The facts that differ between nodes.
    pub(crate) drift: Vec<Drift>,
}

/// Whether the item has the results of a node.
pub(crate) fn is_node(item: &Item) -> bool {
    item.meta.get("type").is_some_and(|kind| kind == "node")
}

/// A property that more of the failed nodes have than of the others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distinction {
    pub(crate) key: Rc<str>,
    pub(crate) value: Rc<str>,
    /// The failed nodes with the property, and all failed nodes.
    pub(crate) failed: (usize, usize),
    /// The other nodes with the property, and all other nodes.
    pub(crate) others: (usize, usize),
}

impl Nodes {
    /// Adds the properties in a list of nodes as the API server returns them. A list that cannot be
    /// read is ignored: the page then says less.
    pub(crate) fn read(&mut self, list: impl Read) {
        let mut reader = serde_json::Deserializer::from_reader(list);
        // The nodes before an error stay.
        let _ = reader.deserialize_seq(NodeList(self));
    }

    /// The number of nodes that are known.
    pub(crate) fn len(&self) -> usize {
        self.properties.len()
    }

    /// Adds the facts of a group of a host-facts document, if `item` is one.
    pub(crate) fn group(&mut self, node: Option<&Item>, item: &Item) {
        if item.meta.get("type").is_some_and(|kind| kind == "file") {
            self.is_facts = item.name == FACTS_FILE;
        }
        let Some(node) = node.filter(|_| self.is_facts) else { return };
        for (key, value) in &item.details {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(is_set) => is_set.to_string(),
                _ => continue,
            };
            self.add(&node.name, &format!("{}: {key}", item.name), &value);
        }
    }

    /// Adds what a tree that is in memory as a whole says about nodes, and its leaves to `counts`.
    /// Returns the nodes with results.
    pub(crate) fn tree(&mut self, root: &Item, verdict: Option<&PluginVerdict>, counts: &mut Counts) -> NodeResults {
        let (mut tree, mut walk) = (TreeNodes::new(verdict), root.walk());
        while let Some(item) = walk.next() {
            let above: Vec<&Item> = walk.ancestors().collect();
            if let Some(is_counted) = tree.item(self, &above, item, item.is_leaf()) {
                self.drift.extend(Drift::of(item));
                counts.add_leaf(is_failure(&item.status), is_counted);
            }
        }
        counts.add_checks(verdict);
        tree.results
    }

    fn add(&mut self, node: &str, key: &str, value: &str) {
        let is_long = key.chars().count() > MAX_KEY || value.chars().count() > MAX_VALUE;
        if is_long || (self.len() >= MAX_NODES && !self.properties.contains_key(node)) {
            return;
        }
        let (node, key, value) = (self.shared(node), self.shared(key), self.shared(value));
        let properties = self.properties.entry(node).or_default();
        if properties.len() < MAX_PROPERTIES && properties.iter().all(|(known, _)| *known != key) {
            properties.push((key, value));
        }
    }

    fn shared(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.strings.get(text) {
            return Rc::clone(known);
        }
        let shared: Rc<str> = text.into();
        self.strings.insert(Rc::clone(&shared));
        shared
    }

    /// The properties that distinguish the failed nodes of a plugin, the best first.
    pub(crate) fn distinctions(&self, nodes: &[(Rc<str>, bool)]) -> Vec<Distinction> {
        let failed = nodes.iter().filter(|(_, failed)| *failed).count();
        let others = nodes.len() - failed;
        if failed == 0 || others == 0 {
            return Vec::new();
        }
        let mut counts: HashMap<&Property, (usize, usize)> = HashMap::new();
        let mut values: HashMap<&Rc<str>, HashSet<&Rc<str>>> = HashMap::new();
        for (node, has_failed) in nodes {
            for property in self.properties.get(node).into_iter().flatten() {
                let (with_failure, without) = counts.entry(property).or_default();
                *(if *has_failed { with_failure } else { without }) += 1;
                values.entry(&property.0).or_default().insert(&property.1);
            }
        }
        let share = |n: usize, of: usize| n as f64 / of as f64;
        // A property that is different on each node is a name.
        let is_name = |key: &Rc<str>| values.get(key).is_some_and(|values| values.len() == nodes.len());
        let mut found: Vec<(f64, Distinction)> = counts
            .into_iter()
            .filter(|((key, _), _)| !is_name(key))
            .map(|((key, value), (a, b))| {
                let (key, value) = (Rc::clone(key), Rc::clone(value));
                let difference = share(a, failed) - share(b, others);
                (difference, Distinction { key, value, failed: (a, failed), others: (b, others) })
            })
            .filter(|(difference, _)| *difference >= MIN_DIFFERENCE)
            .collect();
        found.sort_by(|(a, left), (b, right)| {
            b.total_cmp(a).then_with(|| (&left.key, &left.value).cmp(&(&right.key, &right.value)))
        });
        found.into_iter().map(|(_, distinction)| distinction).take(MAX_LISTED).collect()
    }
}

/// Collects the nodes with results in a tree whose items come one by one.
pub(crate) struct TreeNodes<'a> {
    rulings: Rulings<'a>,
    /// The nodes so far.
    pub(crate) results: NodeResults,
    /// Whether the current node is left out.
    is_full: bool,
}

impl<'a> TreeNodes<'a> {
    /// Starts a tree with this verdict.
    pub(crate) fn new(verdict: Option<&'a PluginVerdict>) -> Self {
        Self { rulings: Rulings::new(verdict), results: NodeResults::new(), is_full: false }
    }

    /// Adds an item, parents before children, and its facts to `known`. `above` are the items above it,
    /// the root first. Returns whether a leaf counts as a failure.
    pub(crate) fn item<A: Borrow<Item>>(
        &mut self,
        known: &mut Nodes,
        above: &[A],
        item: &Item,
        is_leaf: bool,
    ) -> Option<bool> {
        if is_node(item) && self.results.last().is_none_or(|(last, _)| **last != *item.name) {
            self.is_full = self.results.len() >= MAX_RESULTS;
            if !self.is_full {
                self.results.push((item.name.as_str().into(), false));
            }
        }
        let above = above.iter().map(<A as Borrow<Item>>::borrow);
        let node = above.clone().find(|above| is_node(above));
        known.group(node, item);
        if !is_leaf {
            return None;
        }
        let path = above.skip(1).map(|above| above.name.as_str()).chain([item.name.as_str()]);
        let ruled = self.rulings.next(path, &item.status);
        let is_counted = ruled.map_or_else(|| is_failure(&item.status), |ruled| ruled.ruling.counts);
        if let Some((_, failed)) = self.results.last_mut().filter(|_| node.is_some() && !self.is_full) {
            *failed |= is_counted;
        }
        Some(is_counted)
    }
}

struct NodeList<'a>(&'a mut Nodes);

#[derive(Deserialize)]
struct Node {
    metadata: Metadata,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeStatus {
    node_info: BTreeMap<String, Value>,
}

/// Keys of a node's information that are different on each node.
const NAMES: [&str; 3] = ["machineID", "systemUUID", "bootID"];

impl<'de> Visitor<'de> for NodeList<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(node) = list.next_element::<Node>()? {
            let name = node.metadata.name;
            for (key, value) in &node.status.node_info {
                if let Some(value) = value.as_str().filter(|_| !NAMES.contains(&key.as_str())) {
                    self.0.add(&name, key, value);
                }
            }
            for (key, value) in &node.metadata.labels {
                self.0.add(&name, &format!("label {key}"), value);
            }
            if self.0.len() >= MAX_NODES {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
        }
        Ok(())
    }
}

/// A fact that differs between nodes, as the module `host-facts` found it.
pub(crate) struct Drift {
    pub(crate) fact: String,
    /// The value that most nodes have, and their number.
    pub(crate) majority: (String, u64),
    /// The other values, the number of nodes with each, and the names of some of them.
    pub(crate) differing: Vec<(String, u64, Vec<String>)>,
}

impl Drift {
    /// The fact of an item below `drift`.
    pub(crate) fn of(item: &Item) -> Option<Self> {
        let fact = item.meta.get("fact")?.clone();
        let majority = item.details.get("majority")?.as_object()?;
        let differing = item.details.get("differing")?.as_array()?;
        let text = |of: &Map<String, Value>| of.get("value").and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |of: &Map<String, Value>| of.get("nodes").and_then(Value::as_u64).unwrap_or_default();
        let names = |of: &Map<String, Value>| {
            let names = of.get("names").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let differing = differing.iter().filter_map(Value::as_object).map(|of| (text(of), number(of), names(of)));
        Some(Self { fact, majority: (text(majority), number(majority)), differing: differing.collect() })
    }
}

/// The first of the names of nodes, and the number of the others of `all` nodes.
pub(crate) fn some_names(names: &[String], all: u64) -> String {
    let shown: Vec<String> = names.iter().take(MAX_VALUES).map(|node| name(node)).collect();
    let more = all.saturating_sub(shown.len() as u64);
    shown.join(", ") + &(if more > 0 { format!(", … {more} more") } else { String::new() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_of_failed_nodes_are_found() {
        let list: Vec<_> = (0..10)
            .map(|n| {
                let kernel = if n < 4 { "6.1.0-17" } else { "6.1.0-18" };
                json!({"metadata": {"name": format!("n{n}"), "labels": {"zone": if n % 2 == 0 { "a" } else { "b" }, "host": format!("n{n}")}},
                    "status": {"nodeInfo": {"kernelVersion": kernel, "machineID": n.to_string()}, "capacity": {"cpu": "8"}}})
            })
            .collect();
        let mut nodes = Nodes::default();
        nodes.read(serde_json::to_vec(&list).unwrap().as_slice());
        assert_eq!(nodes.len(), 10);
        let mut results: NodeResults = (0..10).map(|n| (format!("n{n}").into(), n < 3)).collect();
        let found = nodes.distinctions(&results);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&*found[0].key, &*found[0].value), ("kernelVersion", "6.1.0-17"));
        assert_eq!((found[0].failed, found[0].others), ((3, 3), (1, 7)));
        results.iter_mut().for_each(|(_, failed)| *failed = true);
        assert!(nodes.distinctions(&results).is_empty());
    }

    #[test]
    fn a_whole_tree_has_its_nodes_their_facts_and_what_counts() {
        let node = |name: &str, kernel: &str, status: &str| {
            json!({"name": name, "status": status, "meta": {"type": "node"}, "items": [
                {"name": "host-facts.json", "status": "passed", "meta": {"type": "file"}, "items": [
                    {"name": "kernel", "status": "passed", "details": {"release": kernel}}]},
                {"name": "a", "status": status}]})
        };
        let drift = json!({"name": "kernel: 1 of 3 nodes differs", "status": "warning", "meta": {"fact": "kernel"},
            "details": {"majority": {"nodes": 2, "value": "new"}, "differing": [{"nodes": 1, "value": "old", "names": ["n1"]}]}});
        let root = json!({"name": "p", "status": "failed", "items": [
            node("n1", "old", "failed"), node("n2", "new", "passed"), node("n3", "new", "failed"), drift]});
        let root: Item = serde_json::from_value(root).unwrap();
        // A judge excuses the failure on the last node.
        let verdict = json!({"version": 1, "plugin": "p", "status": "failed", "failures": 2, "excused": 1, "counting": 1, "chain": [],
            "classes": {}, "checks": [], "items": [{"set": "n3", "path": ["a"], "status": "failed", "class": "known", "counts": false}]});
        let verdict: PluginVerdict = serde_json::from_value(verdict).unwrap();
        let (mut nodes, mut counts) = (Nodes::default(), Counts::default());
        let results = nodes.tree(&root, Some(&verdict), &mut counts);
        assert_eq!((counts.items, counts.counting, counts.excused), (7, 1, 1));
        let failed: Vec<(&str, bool)> = results.iter().map(|(node, failed)| (&**node, *failed)).collect();
        assert_eq!(failed, [("n1", true), ("n2", false), ("n3", false)]);
        let found = nodes.distinctions(&results);
        assert_eq!((&*found[0].key, &*found[0].value, found[0].failed), ("kernel: release", "old", (1, 1)));
        assert_eq!((nodes.drift.len(), nodes.drift[0].fact.as_str()), (1, "kernel"));
    }

    #[test]
    fn a_damaged_list_of_nodes_is_read_as_far_as_it_goes() {
        let mut nodes = Nodes::default();
        nodes.read(r#"[{"metadata": {"name": "n1", "labels": {"a": "b"}}}, {"metadata": 1}]"#.as_bytes());
        nodes.read("rubbish".as_bytes());
        assert_eq!(nodes.len(), 1);
    }
}

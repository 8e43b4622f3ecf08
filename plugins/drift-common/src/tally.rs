//! Collects the values of facts by node.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of different facts: a cluster has a few hundred. Further ones are only counted.
const MAX_FACTS: usize = 4000;
/// Maximum number of different values of one fact. If every node has its own value, a list of them
/// is not useful.
const MAX_VALUES: usize = 1000;
/// Maximum size in bytes of all different facts and values. Most nodes share most values, and each
/// value is stored once.
const MAX_BYTES: usize = 32 << 20;

/// The values of all facts of all nodes. Each different value is stored once, and nodes are
/// numbers.
#[derive(Debug, Default)]
pub struct Tally {
    nodes: Vec<String>,
    known: BTreeSet<String>,
    pub(crate) facts: BTreeMap<String, Values>,
    bytes: usize,
    /// The number of values that were dropped because their facts did not fit.
    pub(crate) dropped: u64,
}

/// The values of one fact.
#[derive(Debug, Default)]
pub(crate) struct Values {
    by_value: BTreeMap<String, Vec<u32>>,
    /// The nodes whose values did not fit.
    pub(crate) beyond: Vec<u32>,
    /// The last node with this fact. If a node has the fact twice, only its first value counts.
    last: Option<u32>,
}

impl Tally {
    /// Sets the node to which the following values belong.
    pub fn node(&mut self, name: &str) {
        if self.nodes.last().is_none_or(|last| last != name) {
            self.nodes.push(name.to_owned());
            self.known.insert(name.to_owned());
        }
    }

    /// Returns whether a node with this name has had facts.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// Adds a value of the current node.
    pub fn add(&mut self, fact: String, value: String) {
        let Some(node) = self.nodes.len().checked_sub(1).and_then(|node| u32::try_from(node).ok()) else { return };
        if !self.facts.contains_key(&fact) {
            if self.facts.len() >= MAX_FACTS || self.bytes + fact.len() > MAX_BYTES {
                self.dropped += 1;
                return;
            }
            self.bytes += fact.len();
        }
        let values = self.facts.entry(fact).or_default();
        if values.last.replace(node) == Some(node) {
            return;
        }
        if let Some(nodes) = values.by_value.get_mut(&value) {
            nodes.push(node);
        } else if values.by_value.len() >= MAX_VALUES || self.bytes + value.len() > MAX_BYTES {
            values.beyond.push(node);
        } else {
            self.bytes += value.len();
            values.by_value.insert(value, vec![node]);
        }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the name of a node.
    pub(crate) fn name(&self, node: u32) -> &str {
        usize::try_from(node).ok().and_then(|node| self.nodes.get(node)).map_or("?", String::as_str)
    }
}

impl Values {
    /// Returns the values with their nodes. The most frequent value comes first, and the lexically
    /// smallest of those that are equally frequent. The majority therefore does not depend on the
    /// order of nodes.
    pub(crate) fn ranked(&self) -> Vec<(&str, &[u32])> {
        let mut ranked: Vec<(&str, &[u32])> =
            self.by_value.iter().map(|(value, nodes)| (value.as_str(), nodes.as_slice())).collect();
        ranked.sort_by_key(|(value, nodes)| (std::cmp::Reverse(nodes.len()), *value));
        ranked
    }

    /// Returns the number of nodes with this fact.
    pub(crate) fn node_count(&self) -> usize {
        self.by_value.values().map(Vec::len).sum::<usize>() + self.beyond.len()
    }

    /// Returns whether there is more than one value.
    pub(crate) fn differ(&self) -> bool {
        self.by_value.len() > 1 || !self.beyond.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(values: &[(&str, &str)]) -> Tally {
        let mut tally = Tally::default();
        for (node, value) in values {
            tally.node(node);
            tally.add("kernel".into(), (*value).into());
        }
        tally
    }

    #[test]
    fn the_majority_does_not_depend_on_the_order_of_nodes() {
        for values in [[("a", "2"), ("b", "1"), ("c", "3")], [("a", "3"), ("b", "2"), ("c", "1")]] {
            let tally = tally(&values);
            let values = &tally.facts["kernel"];
            assert_eq!(values.ranked().iter().map(|(value, _)| *value).collect::<Vec<_>>(), ["1", "2", "3"]);
        }
        let two_of_three = tally(&[("a", "1"), ("b", "2"), ("c", "2")]);
        assert_eq!(two_of_three.facts["kernel"].ranked()[0], ("2", &[1, 2][..]));
    }

    #[test]
    fn a_node_is_heard_once_and_values_are_bounded() {
        let twice = tally(&[("a", "1"), ("a", "2")]);
        assert!(!twice.facts["kernel"].differ());
        assert_eq!(twice.count(), 1);
        let mut many = Tally::default();
        for node in 0..MAX_VALUES + 5 {
            many.node(&format!("n{node}"));
            many.add("kernel".into(), format!("{node}"));
        }
        let values = &many.facts["kernel"];
        assert_eq!((values.ranked().len(), values.beyond.len(), values.node_count()), (MAX_VALUES, 5, MAX_VALUES + 5));
        let mut wide = Tally::default();
        wide.node("n");
        (0..MAX_FACTS + 7).for_each(|fact| wide.add(format!("f{fact}"), String::new()));
        assert_eq!((wide.facts.len(), wide.dropped), (MAX_FACTS, 7));
    }
}

//! Groups the failures of a plugin, so that a test that failed on many nodes is one entry.

use std::collections::HashMap;

use crate::item::Item;
use crate::test_id::{Level, TestId};

/// The maximum number of nodes that an entry lists.
pub const MAX_NODES: usize = 20;

/// A test that failed on one or more nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailedTest<T> {
    /// The identity of the test, with the first node on which it failed.
    pub id: TestId,
    /// The first [`MAX_NODES`] nodes on which the test failed, in the order of the tree.
    pub nodes: Vec<String>,
    /// The number of nodes on which the test failed.
    pub failed_nodes: u64,
    /// Data of the caller.
    pub data: T,
    last_node: Option<String>,
}

impl<T> FailedTest<T> {
    fn is_from(&self, node: Option<&String>) -> bool {
        self.last_node.as_ref() == node
    }

    fn count(&mut self, node: String) {
        self.failed_nodes = self.failed_nodes.saturating_add(1);
        if self.nodes.len() < MAX_NODES {
            self.nodes.push(node.clone());
        }
        self.last_node = Some(node);
    }
}

/// Collects failures in the order of the tree.
#[derive(Debug, Clone)]
pub struct FailedTests<T> {
    tests: Vec<FailedTest<T>>,
    by_name: HashMap<String, Vec<usize>>,
    most: usize,
}

impl<T: Default> FailedTests<T> {
    /// Creates a collection of at most `most` different tests. Further tests are dropped.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { tests: Vec::new(), by_name: HashMap::new(), most }
    }

    /// Counts a failure and returns the entry of its test, or `None` if there is no room for
    /// another test.
    ///
    /// Failures with the same identity on one node remain separate entries, since they may be
    /// different tests.
    pub fn entry(&mut self, id: TestId) -> Option<&mut FailedTest<T>> {
        let known = self.by_name.get(&id.name).into_iter().flatten().copied().find(|at| {
            let test = self.tests.get(*at);
            test.is_some_and(|test| id.node.is_some() && test.id.same_test(&id) && !test.is_from(id.node.as_ref()))
        });
        let at = match known {
            Some(at) => at,
            None if self.tests.len() >= self.most => return None,
            None => {
                let at = self.tests.len();
                self.by_name.entry(id.name.clone()).or_default().push(at);
                let node = id.node.clone();
                self.tests.push(FailedTest {
                    id,
                    nodes: Vec::new(),
                    failed_nodes: 0,
                    data: T::default(),
                    last_node: None,
                });
                let test = self.tests.get_mut(at)?;
                if let Some(node) = node {
                    test.count(node);
                }
                return Some(test);
            }
        };
        let test = self.tests.get_mut(at)?;
        if let Some(node) = id.node {
            test.count(node);
        }
        Some(test)
    }

    /// Appends failures from nodes that come after those seen so far. `merge` combines the data of
    /// the caller.
    pub fn append(&mut self, other: Self, mut merge: impl FnMut(&mut T, T)) {
        for test in other.tests {
            let known = self.by_name.get(&test.id.name).into_iter().flatten().copied().find(|at| {
                let known = self.tests.get(*at);
                known.is_some_and(|known| {
                    test.id.node.is_some()
                        && known.id.same_test(&test.id)
                        && !known.nodes.iter().any(|node| test.nodes.contains(node))
                        && !known.is_from(test.nodes.first())
                })
            });
            let room = self.tests.len() < self.most;
            match known.and_then(|at| self.tests.get_mut(at)) {
                Some(known) => {
                    let room = MAX_NODES.saturating_sub(known.nodes.len());
                    known.nodes.extend(test.nodes.into_iter().take(room));
                    known.failed_nodes = known.failed_nodes.saturating_add(test.failed_nodes);
                    known.last_node = test.last_node;
                    merge(&mut known.data, test.data);
                }
                None if room => {
                    self.by_name.entry(test.id.name.clone()).or_default().push(self.tests.len());
                    self.tests.push(test);
                }
                None => {}
            }
        }
    }

    /// Returns the tests, in the order of their first failures.
    #[must_use]
    pub fn into_tests(self) -> Vec<FailedTest<T>> {
        self.tests
    }
}

/// Returns the number of nodes with results in the tree below `root`.
#[must_use]
pub fn nodes_in(root: &Item) -> u64 {
    let nodes = root.items.iter().filter(|item| Level::of(&item.meta) == Level::Node);
    let names: std::collections::BTreeSet<&str> = nodes.map(|node| node.name.as_str()).collect();
    names.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(node: &str, name: &str) -> TestId {
        let node = (!node.is_empty()).then(|| node.to_owned());
        TestId { node, name: name.to_owned(), ..TestId::default() }
    }

    fn told(tests: FailedTests<u32>) -> Vec<String> {
        let told = tests.into_tests().into_iter();
        told.map(|test| format!("{} {} {}", test.id.name, test.failed_nodes, test.nodes.join(","))).collect()
    }

    fn gathered(ids: &[(&str, &str)]) -> FailedTests<u32> {
        let mut tests = FailedTests::new(3);
        for (node, name) in ids {
            tests.entry(id(node, name));
        }
        tests
    }

    #[test]
    fn a_test_is_one_entry_however_many_nodes_it_failed_on() {
        let tests = gathered(&[("n1", "a"), ("n1", "b"), ("n2", "a"), ("n3", "a")]);
        assert_eq!(told(tests), ["a 3 n1,n2,n3", "b 1 n1"]);
    }

    #[test]
    fn tests_of_one_name_on_one_node_are_not_merged() {
        let tests = gathered(&[("n1", "a"), ("n1", "a"), ("n2", "a"), ("n2", "a")]);
        assert_eq!(told(tests), ["a 2 n1,n2", "a 2 n1,n2"]);
        assert_eq!(told(gathered(&[("", "a"), ("", "a")])), ["a 0 ", "a 0 "]);
    }

    #[test]
    fn beyond_the_bound_known_tests_are_still_counted() {
        let tests = gathered(&[("n1", "a"), ("n1", "b"), ("n1", "c"), ("n1", "d"), ("n2", "a")]);
        assert_eq!(told(tests), ["a 2 n1,n2", "b 1 n1", "c 1 n1"]);
    }

    #[test]
    fn parts_of_a_tree_are_joined() {
        let mut tests = gathered(&[("n1", "a"), ("n1", "a"), ("n2", "a")]);
        tests.append(gathered(&[("n3", "a"), ("n3", "b"), ("n4", "a")]), |_, _| {});
        assert_eq!(told(tests), ["a 4 n1,n2,n3,n4", "a 1 n1", "b 1 n3"]);
    }
}

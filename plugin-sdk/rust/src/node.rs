//! Nodes, and the results that are expected from them.

use std::collections::BTreeMap;

/// A taint of a node (Kubernetes core/v1 `Taint`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint; may be empty.
    pub value: String,
    /// The effect: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A node of the cluster, or the local machine in a local run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// The name of the node.
    pub name: String,
    /// The labels of the node.
    pub labels: BTreeMap<String, String>,
    /// The taints of the node.
    pub taints: Vec<Taint>,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// Whether the node is cordoned.
    pub unschedulable: bool,
    /// The operating system, such as `linux` or `windows`; empty if the cluster does not report it.
    pub os: String,
    /// The architecture, such as `amd64` or `arm64`; empty if the cluster does not report it.
    pub arch: String,
}

impl Node {
    /// Creates a ready node without labels and taints.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ready: true, ..Self::default() }
    }

    /// Adds a label, or replaces its value.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Adds a taint.
    #[must_use]
    pub fn taint(mut self, key: impl Into<String>, value: impl Into<String>, effect: impl Into<String>) -> Self {
        self.taints.push(Taint { key: key.into(), value: value.into(), effect: effect.into() });
        self
    }
}

/// A result that must arrive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expected {
    /// One result for the whole cluster.
    Global,
    /// The result of the node with this name, which must be one of the given nodes.
    Node(String),
}

//! Nodes, and the results that are expected of them.

use std::collections::BTreeMap;

/// A taint of a node (Kubernetes core/v1 `Taint`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    /// The taint's key.
    pub key: String,
    /// The taint's value; may be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A node of the cluster, or this machine in a local run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// The node's name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// The condition `Ready` is `True`.
    pub ready: bool,
    /// The node is cordoned.
    pub unschedulable: bool,
    /// `linux`, `windows`, ...; empty when the cluster does not say.
    pub os: String,
    /// `amd64`, `arm64`, ...; empty when the cluster does not say.
    pub arch: String,
}

impl Node {
    /// A ready node of this name without labels and taints.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ready: true, ..Self::default() }
    }

    /// Adds a label, or replaces it.
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

/// One result that must arrive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expected {
    /// One result for the whole cluster.
    Global,
    /// The result of the node of this name, which must be one of the nodes given.
    Node(String),
}

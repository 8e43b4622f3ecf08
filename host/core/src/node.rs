//! Nodes as expectations modules see them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::NodeName;

/// A taint of a node (Kubernetes core/v1 `Taint`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint. May be empty.
    #[serde(default)]
    pub value: String,
    /// The effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A node of the cluster, or this machine in a local run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The name of the node.
    pub name: NodeName,
    /// The labels of the node.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The taints of the node.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// Whether the node is cordoned.
    #[serde(default)]
    pub unschedulable: bool,
    /// The operating system, such as `linux` or `windows`. Empty if unknown.
    #[serde(default)]
    pub os: String,
    /// The CPU architecture, such as `amd64` or `arm64`. Empty if unknown.
    #[serde(default)]
    pub arch: String,
}

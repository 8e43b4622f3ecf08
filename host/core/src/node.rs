//! Nodes as the expectations see them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::NodeName;

/// A taint of a node (Kubernetes core/v1 `Taint`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The taint's key.
    pub key: String,
    /// The taint's value; may be empty.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A node of the cluster, or this machine in a local run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's name.
    pub name: NodeName,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// The condition `Ready` is `True`.
    pub ready: bool,
    /// The node is cordoned.
    #[serde(default)]
    pub unschedulable: bool,
    /// `linux`, `windows`, ...; empty when unknown.
    #[serde(default)]
    pub os: String,
    /// `amd64`, `arm64`, ...; empty when unknown.
    #[serde(default)]
    pub arch: String,
}

//! What is to be removed.

use std::fmt;

use kube::api::ObjectMeta;

use super::kinds::Kind;
use crate::error::ClusterError;

/// Whether cluster roles and their bindings are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rbac {
    /// Those that there are, where the cluster has roles at all.
    Enabled,
    /// No: they are not even looked for.
    Disabled,
}

/// Which run is to be removed.
#[derive(Debug, Clone)]
pub struct DeleteOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// Cluster roles and bindings of every run, and the namespaces that end-to-end tests left behind.
    pub all: bool,
    /// Whether cluster roles and their bindings are removed.
    pub rbac: Rbac,
}

/// An object of the cluster.
#[derive(Debug, Clone)]
pub struct Object {
    pub(super) kind: &'static Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: Option<String>,
    /// It is being removed already.
    pub(super) terminating: bool,
}

impl Object {
    pub(super) fn new(kind: &'static Kind, metadata: &ObjectMeta) -> Option<Self> {
        Some(Self {
            kind,
            namespace: metadata.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: metadata.name.clone()?,
            uid: metadata.uid.clone(),
            terminating: metadata.deletion_timestamp.is_some(),
        })
    }

    /// Whether it was being removed already when it was looked at.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.terminating
    }

    /// Whether it is a namespace, and so goes with everything in it.
    #[must_use]
    pub fn is_namespace(&self) -> bool {
        self.kind.word == "namespace"
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind.word, self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace `{namespace}`"),
            None => Ok(()),
        }
    }
}

/// What is to be removed.
#[derive(Debug, Default)]
pub struct Plan {
    /// In the order of removal.
    pub objects: Vec<Object>,
    /// What goes with the namespaces among them, in words: how many of each kind.
    pub contents: Vec<String>,
    /// What goes with a namespace although it is not of the run, in words: the first few.
    pub foreign: Vec<String>,
    /// What is left alone, and why.
    pub notes: Vec<String>,
    /// What could not be looked at, and so may remain.
    pub problems: Vec<ClusterError>,
}

impl Plan {
    /// Whether there is nothing to remove.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

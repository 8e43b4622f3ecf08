//! The objects to delete, and the options.

use std::fmt;

use kube::api::ObjectMeta;

use super::kinds::Kind;
use crate::error::ClusterError;

/// Whether to delete cluster roles and their bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rbac {
    /// Delete those that exist, if the cluster has RBAC at all.
    Enabled,
    /// Do not even look for them.
    Disabled,
}

/// Selects the run to delete.
#[derive(Debug, Clone)]
pub struct DeleteOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// Whether to also delete the cluster roles and bindings of every run, and the namespaces that
    /// end-to-end tests left behind.
    pub all: bool,
    /// Whether to delete cluster roles and their bindings.
    pub rbac: Rbac,
}

/// An object in the cluster.
#[derive(Debug, Clone)]
pub struct Object {
    pub(super) kind: &'static Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: Option<String>,
    /// Whether it is already being deleted.
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

    /// Returns true if the object was already being deleted when it was listed.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.terminating
    }

    /// Returns true for a namespace, which is deleted with everything in it.
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

/// The objects to delete, with information for the user.
#[derive(Debug, Default)]
pub struct Plan {
    /// The objects in deletion order.
    pub objects: Vec<Object>,
    /// The contents of the namespaces to delete, as a count for each kind.
    pub contents: Vec<String>,
    /// The first few objects that do not belong to the run but are deleted with a namespace.
    pub foreign: Vec<String>,
    /// What is kept, and why.
    pub notes: Vec<String>,
    /// What could not be inspected, and so may remain.
    pub problems: Vec<ClusterError>,
}

impl Plan {
    /// Returns true if there is nothing to delete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

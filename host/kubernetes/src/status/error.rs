//! Errors while reading the status of a run.

use super::seen::{Seen, Waiting};
use crate::error::ClusterError;

/// Error while reading the status of a run. [`StatusError::hint`] returns how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The namespace does not exist.
    #[error("namespace `{namespace}` does not exist")]
    NoNamespace {
        /// The namespace.
        namespace: String,
    },
    /// The namespace has no aggregator pod.
    #[error("no run in namespace `{namespace}`: it has no aggregator pod")]
    NoPod {
        /// The namespace.
        namespace: String,
    },
    /// The pod is not running yet.
    #[error("the aggregator has not started: pod `{pod}` is pending{}", waiting_text(.waiting.as_deref()))]
    Pending {
        /// The pod.
        pod: String,
        /// The namespace.
        namespace: String,
        /// What it waits for, if known.
        waiting: Option<Box<Waiting>>,
        /// Its last events, one line each, oldest first.
        events: Vec<String>,
    },
    /// The pod ended before the run was complete.
    #[error("the aggregator's pod `{pod}` has stopped: {why}")]
    PodFailed {
        /// The pod.
        pod: String,
        /// The namespace.
        namespace: String,
        /// How it ended.
        why: String,
        /// The last status that it wrote.
        last: Option<Box<Seen>>,
    },
    /// The pod's node does not respond.
    #[error("the state of the aggregator is unknown: node `{node}` of pod `{pod}` does not respond")]
    PodUnknown {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
        /// The last status that it wrote.
        last: Option<Box<Seen>>,
    },
    /// The pod is running, but has no status yet.
    #[error("the aggregator has not published its status yet: pod `{pod}` has no annotation `{}`{}", crate::names::STATUS_ANNOTATION, waiting_text(.waiting.as_deref()))]
    NoAnnotation {
        /// The pod.
        pod: String,
        /// The namespace.
        namespace: String,
        /// Why its container is not running, if so.
        waiting: Option<Box<Waiting>>,
    },
    /// The annotation is not a valid status.
    #[error("failed to read the status of pod `{pod}`: {cause}")]
    Damaged {
        /// The pod.
        pod: String,
        /// The parse error.
        cause: String,
    },
    /// A cluster operation failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

fn waiting_text(waiting: Option<&Waiting>) -> String {
    waiting.map(|waiting| format!(": {}", waiting.words())).unwrap_or_default()
}

impl StatusError {
    /// Returns how to fix the problem, if known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoNamespace { .. } | Self::NoPod { .. } => Some(
                "pass the namespace of the run with `--namespace`, or start one with `plumbline run`; to see a run on this machine, add `--local`"
                    .to_owned(),
            ),
            Self::Pending { waiting, .. } => Some(match waiting {
                Some(waiting) if waiting.is_image_trouble() => {
                    "check the image's name, and that nodes can reach its registry; choose another image with `--sonobuoy-image`"
                        .to_owned()
                }
                Some(waiting) if waiting.reason == "Unschedulable" => {
                    "make room on a node, or choose nodes with `--aggregator-node-selector`".to_owned()
                }
                _ => "try again in a moment, or wait for it with `plumbline wait`".to_owned(),
            }),
            Self::PodFailed { pod, namespace, last, .. } => {
                let failure_hint = last.as_ref().and_then(|last| last.status.failure.as_ref()?.hint.as_deref());
                let own = failure_hint.map(|hint| format!("{hint}\n")).unwrap_or_default();
                Some(format!("{own}see why with `kubectl logs --namespace {namespace} {pod}`, and remove the run with `plumbline delete -n {namespace}`"))
            }
            Self::PodUnknown { node, .. } => {
                Some(format!("check node `{node}`: when it is back, the run may continue; if it is lost, start a new run"))
            }
            Self::NoAnnotation { pod, namespace, waiting } => Some(if waiting.is_some() {
                format!("see why with `kubectl logs --namespace {namespace} {pod} --previous`")
            } else {
                format!("try again in a moment; if that does not help, see `kubectl logs --namespace {namespace} {pod}`")
            }),
            Self::Damaged { .. } => {
                Some("try again in a minute; if that does not help, look for other clients that change its pod".to_owned())
            }
            Self::Cluster(error) => error.hint.clone(),
        }
    }

    /// Returns true if the run cannot finish by itself: its aggregator is gone, or a required
    /// permission is missing.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::NoNamespace { .. } | Self::NoPod { .. } | Self::PodFailed { .. } => true,
            Self::Cluster(error) => error.is_forbidden(),
            _ => false,
        }
    }

    /// Returns whether a problem, beyond the normal delays of a start, blocks the aggregator.
    /// Returns `None` if it has started.
    #[must_use]
    pub fn hindered(&self) -> Option<bool> {
        match self {
            Self::Pending { waiting, .. } | Self::NoAnnotation { waiting, .. } => {
                Some(waiting.as_ref().is_some_and(|waiting| !waiting.is_starting()))
            }
            _ => None,
        }
    }

    /// Returns the last known state of the run, if it has a status.
    #[must_use]
    pub fn last(&self) -> Option<&Seen> {
        match self {
            Self::PodFailed { last, .. } | Self::PodUnknown { last, .. } => last.as_deref(),
            _ => None,
        }
    }
}

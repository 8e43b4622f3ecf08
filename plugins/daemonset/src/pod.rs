//! What a pod spec says about nodes.

use std::collections::BTreeMap;

use plumbline_sdk::Node;
use serde_json::Value;

use crate::error::SpecError;
use crate::place::{Object, Place};
use crate::requirement::Term;
use crate::toleration::{self, Toleration};

/// The label of every node that names its operating system.
const OS_LABEL: &str = "kubernetes.io/os";

/// Whether a node runs Linux, as far as is known.
pub(crate) fn runs_linux(node: &Node) -> bool {
    matches!(node.os.as_str(), "" | "linux")
}

/// The parts of a `podSpec` (Kubernetes core/v1 `PodSpec`) that decide on which nodes a DaemonSet runs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pod {
    /// The one node to run on; empty for any.
    pub node_name: String,
    /// Labels that a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// Terms of the required node affinity, one of which must match; `None` where nothing is required.
    pub required_terms: Option<Vec<Term>>,
    /// The operating system that the pod is for; empty where it does not say.
    pub os: String,
    /// The tolerations of the pod, then those that the DaemonSet controller adds.
    pub tolerations: Vec<Toleration>,
}

impl Pod {
    /// Reads a `podSpec`. Null is an empty one. Fields that have nothing to do with nodes are not looked at.
    ///
    /// # Errors
    /// A place that the API server of Kubernetes would refuse.
    pub fn read(pod_spec: &Value) -> Result<Self, SpecError> {
        let Some(spec) = Place::root("podSpec", pod_spec).optional_object()? else {
            return Ok(Self { tolerations: toleration::of_the_controller(false), ..Self::default() });
        };
        let mut tolerations = spec.list("tolerations")?.iter().map(Toleration::read).collect::<Result<Vec<_>, _>>()?;
        tolerations.extend(toleration::of_the_controller(spec.flag("hostNetwork")?));
        Ok(Self {
            node_name: spec.text("nodeName")?.to_owned(),
            node_selector: spec.object("nodeSelector")?.map(|labels| labels.texts()).transpose()?.unwrap_or_default(),
            required_terms: required_terms(&spec)?,
            os: spec.object("os")?.map(|os| os.text("name")).transpose()?.unwrap_or_default().to_owned(),
            tolerations,
        })
    }

    /// Whether images of the pod can run on `node`. The worker's image is for Linux, so a node with another operating system counts only
    /// if the pod asks for one: by `os.name`, or by the label `kubernetes.io/os`.
    #[must_use]
    pub fn fits_os(&self, node: &Node) -> bool {
        if !self.os.is_empty() {
            return node.os.is_empty() || node.os == self.os;
        }
        runs_linux(node) || self.node_selector.contains_key(OS_LABEL) || self.terms_name_os()
    }

    fn terms_name_os(&self) -> bool {
        let mut expressions = self.required_terms.iter().flatten().flat_map(|term| &term.expressions);
        expressions.any(|requirement| requirement.key == OS_LABEL)
    }

    /// Whether a DaemonSet of this pod has one on `node`. That the node is cordoned or not ready does not matter by itself; the taints
    /// that Kubernetes puts on such nodes do.
    #[must_use]
    pub fn runs_on(&self, node: &Node, ignore_taints: bool) -> bool {
        self.fits_os(node)
            && (self.node_name.is_empty() || self.node_name == node.name)
            && self.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value))
            && self.required_terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node)))
            && (ignore_taints || toleration::tolerates_all(&self.tolerations, &node.taints))
    }
}

fn required_terms(spec: &Object<'_>) -> Result<Option<Vec<Term>>, SpecError> {
    let Some(affinity) = spec.object("affinity")? else { return Ok(None) };
    let Some(affinity) = affinity.object("nodeAffinity")? else { return Ok(None) };
    let Some(required) = affinity.object("requiredDuringSchedulingIgnoredDuringExecution")? else { return Ok(None) };
    Ok(Some(required.list("nodeSelectorTerms")?.iter().map(Term::read).collect::<Result<_, _>>()?))
}

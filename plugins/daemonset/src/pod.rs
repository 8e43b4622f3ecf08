//! The parts of a pod spec that select nodes.

use std::collections::BTreeMap;

use plumbline_sdk::Node;
use serde_json::Value;

use crate::place::{FieldPath, Object, SpecError};
use crate::requirement::Term;
use crate::toleration::{self, Toleration};

/// The label with the operating system of a node.
const OS_LABEL: &str = "kubernetes.io/os";

/// Returns whether a node runs Linux. A node of unknown operating system counts as Linux.
pub(crate) fn runs_linux(node: &Node) -> bool {
    matches!(node.os.as_str(), "" | "linux")
}

/// The parts of a `podSpec` (Kubernetes core/v1 `PodSpec`) that decide on which nodes a DaemonSet
/// runs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pod {
    /// The only node to run on; empty for any.
    pub node_name: String,
    /// The labels that a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// The terms of the required node affinity, one of which must match; `None` if nothing is
    /// required.
    pub required_terms: Option<Vec<Term>>,
    /// The operating system of the pod; empty if it is not set.
    pub os: String,
    /// The tolerations of the pod, followed by those that the DaemonSet controller adds.
    pub tolerations: Vec<Toleration>,
}

impl Pod {
    /// Reads a `podSpec`. Null counts as empty. Fields that have nothing to do with nodes are
    /// ignored.
    ///
    /// # Errors
    /// A part that the API server of Kubernetes would reject.
    pub fn read(pod_spec: &Value) -> Result<Self, SpecError> {
        let Some(spec) = FieldPath::root("podSpec", pod_spec).optional_object()? else {
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

    /// Returns whether images of the pod can run on `node`. The worker's image is for Linux. A node
    /// with another operating system therefore counts only if the pod asks for it, by `os.name` or
    /// by the label `kubernetes.io/os`.
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

    /// Returns whether a DaemonSet of this pod runs it on `node`. Whether the node is cordoned or
    /// ready does not matter by itself. The taints that Kubernetes adds to such nodes do.
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

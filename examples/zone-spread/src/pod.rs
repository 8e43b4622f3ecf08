//! The parts of a `podSpec` (Kubernetes core/v1 `PodSpec`) that decide on which nodes its pods run:
//! `nodeSelector` and `tolerations`.

use std::collections::BTreeMap;

use plumbline_sdk::{Node, Taint};
use serde::Deserialize;
use serde_json::Value;

/// The parts of a pod that this module reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pod {
    node_selector: Option<BTreeMap<String, String>>,
    tolerations: Option<Vec<Toleration>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Toleration {
    key: Option<String>,
    operator: Option<String>,
    value: Option<String>,
    effect: Option<String>,
}

impl Pod {
    /// Reads these parts of a pod spec. All others are ignored.
    ///
    /// # Errors
    /// A sentence that says which value is invalid.
    pub fn read(pod_spec: &Value) -> Result<Self, String> {
        Self::deserialize(pod_spec).map_err(|error| format!("the `podSpec` is malformed: {error}"))
    }

    /// Returns why the pod does not run on the node; `None` if it does.
    #[must_use]
    pub fn obstacle(&self, node: &Node) -> Option<String> {
        let selector = self.node_selector.iter().flatten();
        if let Some((key, value)) = selector.into_iter().find(|(key, value)| node.labels.get(*key) != Some(*value)) {
            return Some(format!("has not the label `{key}={value}` of the nodeSelector"));
        }
        // `PreferNoSchedule` does not exclude any pod.
        let mut taints = node.taints.iter().filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"));
        let taint =
            taints.find(|taint| !self.tolerations.iter().flatten().any(|toleration| toleration.covers(taint)))?;
        Some(format!("has the taint `{}`, which is not tolerated", taint.key))
    }
}

impl Toleration {
    fn covers(&self, taint: &Taint) -> bool {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (key, effect) = (text(&self.key), text(&self.effect));
        let any_value = self.operator.as_deref() == Some("Exists");
        (key == taint.key || (key.is_empty() && any_value))
            && (any_value || text(&self.value) == taint.value)
            && (effect.is_empty() || effect == taint.effect)
    }
}

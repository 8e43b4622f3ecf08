//! Tolerations (Kubernetes core/v1 `Toleration`).

use plumbline_sdk::Taint;

use crate::place::{FieldPath, SpecError};

/// The tolerations that the DaemonSet controller of Kubernetes adds to every pod. With them, the
/// taints of a cordoned node, or of one with problems, do not evict the pods.
const CONTROLLER: [(&str, Effect); 6] = [
    ("node.kubernetes.io/not-ready", Effect::NoExecute),
    ("node.kubernetes.io/unreachable", Effect::NoExecute),
    ("node.kubernetes.io/disk-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/memory-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/pid-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/unschedulable", Effect::NoSchedule),
];

/// The toleration that the controller also adds to pods on the host's network, which need no
/// network plugin.
const HOST_NETWORK: (&str, Effect) = ("node.kubernetes.io/network-unavailable", Effect::NoSchedule);

/// The effect of a taint on pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The pods are not scheduled on the node.
    NoSchedule,
    /// The pods are scheduled on the node only if there is no better one. This excludes nothing.
    PreferNoSchedule,
    /// The pods are not scheduled on the node, and running ones are evicted.
    NoExecute,
}

/// A set of taints that a pod tolerates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// The key of the taint; empty for any.
    pub key: String,
    /// The value of the taint; `None` for any (operator `Exists`).
    pub value: Option<String>,
    /// The effect of the taint; `None` for any.
    pub effect: Option<Effect>,
}

impl Effect {
    /// Returns the effect with this name; `None` if Kubernetes does not know it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "NoSchedule" => Some(Self::NoSchedule),
            "PreferNoSchedule" => Some(Self::PreferNoSchedule),
            "NoExecute" => Some(Self::NoExecute),
            _ => None,
        }
    }
}

impl Toleration {
    pub(crate) fn read(place: &FieldPath<'_>) -> Result<Self, SpecError> {
        let toleration = place.object()?;
        let key = toleration.text("key")?.to_owned();
        let value = toleration.text("value")?.to_owned();
        let wrong = |operator, rule| SpecError::Values { place: toleration.name.clone(), operator, rule };
        let value = match toleration.text("operator")? {
            "" | "Equal" if key.is_empty() => return Err(wrong("Equal", "needs a `key`")),
            "" | "Equal" => Some(value),
            "Exists" if !value.is_empty() => return Err(wrong("Exists", "takes no `value`")),
            "Exists" => None,
            other => return Err(toleration.required("operator")?.unknown(other, "`Equal` or `Exists`")),
        };
        let effect = match toleration.text("effect")? {
            "" => None,
            name => Some(Effect::from_name(name).map_or_else(
                || Err(toleration.required("effect")?.unknown(name, "`NoSchedule`, `PreferNoSchedule` or `NoExecute`")),
                Ok,
            )?),
        };
        Ok(Self { key, value, effect })
    }

    /// Returns whether the toleration covers `taint`, whose effect is `effect`.
    fn covers(&self, taint: &Taint, effect: Effect) -> bool {
        (self.key.is_empty() || self.key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|own| own == effect)
    }
}

/// Returns the tolerations that the DaemonSet controller adds.
pub(crate) fn of_the_controller(host_network: bool) -> Vec<Toleration> {
    let further = host_network.then_some(HOST_NETWORK);
    let exists = |(key, effect): (&str, Effect)| Toleration { key: key.to_owned(), value: None, effect: Some(effect) };
    CONTROLLER.into_iter().chain(further).map(exists).collect()
}

/// Returns whether the pod tolerates all taints. `PreferNoSchedule` is always tolerated. So is an
/// unknown effect, which a later Kubernetes may have: its meaning is not known.
pub(crate) fn tolerates_all(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    taints.iter().all(|taint| match Effect::from_name(&taint.effect) {
        None | Some(Effect::PreferNoSchedule) => true,
        Some(effect) => tolerations.iter().any(|toleration| toleration.covers(taint, effect)),
    })
}

//! The expectations of the driver `DaemonSet`: one result from each node that runs a pod of the
//! plugin's DaemonSet.
//!
//! Without a `podSpec`, that is every Linux node, because the default pod tolerates everything.
//! Control plane nodes, cordoned nodes and nodes that are not ready are included. With a `podSpec`,
//! a node counts if the DaemonSet controller and the scheduler of Kubernetes would run a pod there:
//!
//! * `nodeName`, if set, is the name of the node.
//! * Every entry of `nodeSelector` is a label of the node.
//! * The node runs Linux, as the worker's image does, unless the `podSpec` asks for another
//!   operating system. It does so by `os.name`, or by the label `kubernetes.io/os` in
//!   `nodeSelector` or in a required term.
//! * At least one term of `affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`
//!   matches: all its `matchExpressions` and `matchFields` hold. An empty list of terms matches no
//!   node, and neither does a term without expressions and fields.
//! * The pod tolerates every taint of the node with the effect `NoSchedule` or `NoExecute`. Its
//!   tolerations are those of the `podSpec`, and those that the DaemonSet controller adds to every
//!   pod. Because of the latter, a cordoned node counts.
//!
//! # Differences from Sonobuoy
//!
//! * Sonobuoy ignores taints, and then waits for results that never arrive. The option
//!   `ignore-taints: true` restores that behavior, for clusters in which an admission webhook adds
//!   tolerations to pods.
//! * Sonobuoy ignores `nodeName`, and does not support `Gt`, `Lt` and `matchFields`.
//! * In Sonobuoy an empty term matches every node. In Kubernetes it matches none.
//!
//! ```yaml
//! plumbline:
//!   options:
//!     ignore-taints: true
//! ```
//!
//! # Errors
//!
//! If the API server would reject a part of the `podSpec` that this module reads, the error names
//! the place, and the run does not start. Examples are an unknown operator, values that do not fit
//! the operator, or a number instead of a string.
#![forbid(unsafe_code)]

mod place;
mod pod;
mod requirement;
mod toleration;

use plumbline_sdk::{Expectations, Expected, Node, PluginInfo};
use serde_json::Value;

use place::FieldPath;

pub use place::SpecError;
pub use pod::Pod;
pub use requirement::{Requirement, Rule, Term};
pub use toleration::{Effect, Toleration};

/// The expectations of the driver `DaemonSet`. The documentation of the crate describes the rules.
#[derive(Debug, Clone, Copy)]
pub struct DaemonSet;

impl Expectations for DaemonSet {
    fn expected_results(
        plugin: &PluginInfo,
        pod_spec: Option<&Value>,
        nodes: &[Node],
    ) -> Result<Vec<Expected>, String> {
        let ignore_taints = ignore_taints(&plugin.options).map_err(|error| error.to_string())?;
        let pod = pod_spec.map(Pod::read).transpose().map_err(|error| error.to_string())?;
        let runs_on = |node: &Node| match &pod {
            Some(pod) => pod.runs_on(node, ignore_taints),
            None => pod::runs_linux(node),
        };
        let expected: Vec<_> =
            nodes.iter().filter(|node| runs_on(node)).map(|node| Expected::Node(node.name.clone())).collect();
        if expected.is_empty() && !nodes.is_empty() {
            plumbline_sdk::log::warning!("no result is expected: none of {} nodes fits the podSpec", nodes.len());
        }
        Ok(expected)
    }
}

/// Returns the option `ignore-taints`, which is false by default. Unknown options are ignored,
/// because all modules of a definition share its options.
fn ignore_taints(options: &Value) -> Result<bool, SpecError> {
    let options = FieldPath::root("options", options).optional_object()?;
    options.map_or(Ok(false), |options| options.flag("ignore-taints"))
}

plumbline_sdk::module! {
    name: "daemonset",
    formats: [],
    default_files: [],
    expectations: DaemonSet,
}

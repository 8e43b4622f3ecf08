//! The expectation of the driver `DaemonSet`: one result from each node that the pods of the plugin's DaemonSet run on.
//!
//! Without a `podSpec` that is every Linux node, control plane, cordoned and not ready ones included, because the default pod tolerates
//! everything. With a `podSpec` a node counts when the DaemonSet controller and the scheduler of Kubernetes would run a pod there:
//!
//! * `nodeName`, where there is one, is the node's name;
//! * every entry of `nodeSelector` is a label of the node;
//! * the node runs Linux, as the worker's image does, or the `podSpec` asks for an operating system: by `os.name`, or by the label
//!   `kubernetes.io/os` in `nodeSelector` or in a required term;
//! * one term of `affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution` matches, that is, all its `matchExpressions` and
//!   `matchFields` do. No terms match no node, and neither does a term that has neither expressions nor fields;
//! * the pod tolerates every taint of the node whose effect is `NoSchedule` or `NoExecute`, with the tolerations of the `podSpec` and
//!   those that the DaemonSet controller adds to every pod (which is why a cordoned node counts).
//!
//! # Where this differs from Sonobuoy
//!
//! Sonobuoy ignores taints and then waits for results that never come. The option `ignore-taints: true` brings that back, for a
//! cluster in which something else adds tolerations to the pods on their way (an admission webhook). Sonobuoy also ignores `nodeName`, does not know `Gt`,
//! `Lt` and `matchFields`, and lets an empty term match every node, where Kubernetes lets it match none.
//!
//! ```yaml
//! plumbline:
//!   options:
//!     ignore-taints: true
//! ```
//!
//! # Errors
//!
//! A `podSpec` that the API server would refuse in these places (an operator that does not exist, values that do not fit the operator,
//! a number where text must stand) is an error that names the place: the run then ends before it begins, not hours later.
#![forbid(unsafe_code)]

mod error;
mod options;
mod place;
mod pod;
mod requirement;
mod toleration;

use plumbline_sdk::{Expectations, Expected, Node, PluginInfo};
use serde_json::Value;

pub use error::SpecError;
pub use pod::Pod;
pub use requirement::{Requirement, Rule, Term};
pub use toleration::{Effect, Toleration};

/// Plays the role. See the crate's documentation for the rules.
#[derive(Debug, Clone, Copy)]
pub struct DaemonSet;

impl Expectations for DaemonSet {
    fn expected_results(
        plugin: &PluginInfo,
        pod_spec: Option<&Value>,
        nodes: &[Node],
    ) -> Result<Vec<Expected>, String> {
        let ignore_taints = options::ignore_taints(&plugin.options).map_err(|error| error.to_string())?;
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

plumbline_sdk::module! {
    name: "daemonset",
    formats: [],
    default_files: [],
    expectations: DaemonSet,
}

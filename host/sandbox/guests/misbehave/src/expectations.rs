//! The role `expectations`.

use plumbline_sdk::{Expectations, Expected, Node, PluginInfo};
use serde_json::Value;

use crate::post_processor::spin;
use crate::{Behaviour, Misbehave};

impl Expectations for Misbehave {
    fn expected_results(
        plugin: &PluginInfo,
        pod_spec: Option<&Value>,
        nodes: &[Node],
    ) -> Result<Vec<Expected>, String> {
        let all = || nodes.iter().map(|node| Expected::Node(node.name.clone()));
        match Behaviour::of(plugin)? {
            Behaviour::Stranger => Ok(all().chain([Expected::Node("nobody\u{1b}".into())]).collect()),
            Behaviour::Twice => Ok(all().chain(all()).collect()),
            Behaviour::EndlessLoop => {
                spin();
                Ok(Vec::new())
            }
            Behaviour::EmitOutOfRole => {
                emit();
                Ok(Vec::new())
            }
            Behaviour::RefuseHalfway => Err(format!("a pod spec of {} keys is too much", keys(pod_spec))),
            _ => Ok([Expected::Global].into_iter().chain(all()).collect()),
        }
    }
}

fn keys(pod_spec: Option<&Value>) -> usize {
    pod_spec.and_then(|spec| spec.as_object()).map_or(0, |spec| spec.len())
}

/// Emits an item. The host offers the interface to every role, but the rules forbid this one to use
/// it.
pub(crate) fn emit() {
    #[cfg(target_arch = "wasm32")]
    plumbline_sdk::guest::post_processor::plumbline::plugin::output::emit(&[plumbline_sdk::Item::new(0, "item")]);
}

//! The expectations of the drivers `Job` and `Process`: one result for the whole cluster, whatever
//! its nodes are.
#![forbid(unsafe_code)]

use plumbline_sdk::{Expectations, Expected, Node, PluginInfo};
use serde_json::Value;

/// The expectations of the drivers `Job` and `Process`.
#[derive(Debug, Clone, Copy)]
pub struct Job;

impl Expectations for Job {
    fn expected_results(
        _plugin: &PluginInfo,
        _pod_spec: Option<&Value>,
        _nodes: &[Node],
    ) -> Result<Vec<Expected>, String> {
        Ok(vec![Expected::Global])
    }
}

plumbline_sdk::module! {
    name: "job",
    formats: [],
    default_files: [],
    expectations: Job,
}

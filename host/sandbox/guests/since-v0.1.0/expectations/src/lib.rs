//! An expectations module of the first contract generation.
//!
//! It expects a result from every node that is ready, not cordoned, without taints, and runs Linux
//! on the architecture that the pod requests. If the pod spec contains the word `cluster`, it
//! expects a single result for the whole cluster.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
mod guest {
    #[expect(unsafe_code, reason = "generated")]
    mod bindings {
        wit_bindgen::generate!({ world: "expectations-module", path: "../../../../../wit/since_v0.1.0" });
        use super::Module;
        export!(Module);
    }

    use bindings::exports::plumbline::plugin::expectations::{ExpectedResult, Guest, Node};
    use bindings::plumbline::plugin::log::{self, Level};
    use bindings::plumbline::plugin::types::PluginInfo;

    /// The metadata of the module, in the form of its generation.
    const ABOUT: &[u8; 62] = br#"{"name":"v0-1-0-expectations","formats":[],"default-files":[]}"#;

    #[expect(unsafe_code, reason = "a section of the file, which nothing reads at run time")]
    #[used]
    #[unsafe(link_section = "plumbline:module")]
    static SECTION: [u8; 62] = *ABOUT;

    struct Module;

    impl Guest for Module {
        fn expected_results(
            plugin: PluginInfo,
            pod_spec: Option<String>,
            nodes: Vec<Node>,
        ) -> Result<Vec<ExpectedResult>, String> {
            log::write(Level::Info, &format!("{} of {} nodes", plugin.name, nodes.len()));
            let pod_spec = pod_spec.unwrap_or_default();
            if pod_spec.contains("cluster") {
                return Ok(vec![ExpectedResult::Global]);
            }
            let arch = if pod_spec.contains("arm64") { "arm64" } else { "amd64" };
            let usable = |node: &&Node| {
                node.ready && !node.unschedulable && node.taints.is_empty() && node.os == "linux" && node.arch == arch
            };
            let expected: Vec<ExpectedResult> =
                nodes.iter().filter(usable).map(|node| ExpectedResult::Node(node.name.clone())).collect();
            if expected.is_empty() {
                let why = nodes.iter().map(|node| {
                    let taints =
                        node.taints.iter().map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect));
                    let labels = node.labels.iter().map(|(key, value)| format!("{key}={value}"));
                    format!("{} {:?} {:?}", node.name, labels.collect::<Vec<_>>(), taints.collect::<Vec<_>>())
                });
                return Err(format!("no node can answer: {}", why.collect::<Vec<_>>().join("; ")));
            }
            Ok(expected)
        }
    }
}

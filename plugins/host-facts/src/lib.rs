//! The built-in module `host-facts`: what `plumbline worker facts` gathers on a machine, as items, and over all nodes of a cluster what
//! differs from the majority.
//!
//! # Items of a document
//!
//! A document is one JSON object, `{"ansible_facts": {…}, "plumbline_facts": {…}, "errors": […]}`; every key may be missing, and
//! facts are found with the prefix `ansible_` and without. The file becomes an item, and each group of facts (`system`, `kernel`,
//! `processors`, `memory`, `network`, `mounts`, `kubelet`, `container runtime`, `cgroup`, `sysctls`, `swap`, `time`) an item below it,
//! `passed`, with the values as details. A group without a fact is left out. `certificates` and `disks` have an item for each.
//!
//! Some facts are wrong by themselves: see [`Options`]. What could not be read on the machine is the item `errors`, `skipped`, with the
//! reasons. A file that is no such document is `unknown`, with the reason under the meta key `error`.
//!
//! # Drift
//!
//! As a summarizer the module compares, over all nodes, the kernel, the kubelet's version and configuration, the container runtime's name, version and
//! configuration, the cgroup version and controllers, sysctls, whether the clock is synchronised and how far it is off, and whether there
//! is swap. The item `drift` has a child for each fact that differs, with the majority's value and who differs; `totals` counts nodes
//! by distribution, kernel, architecture, kubelet and container runtime. A fact that a node does not tell is not compared there.
//!
//! # Bounds
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | a document | 8 MiB | it is `unknown`, with the reason |
//! | values in one fact, levels of its nesting | 20,000; 32 | the fact is left out, and the detail `cut` names it |
//! | certificates, disks, errors of a document | 500 each | the rest is counted |
//! | different facts that are compared | 4,000 | the rest is counted |
//! | different values: of one fact; bytes of all | 1,000; 32 MiB | the nodes are counted under other values |
//! | items below `drift` | 500 | the rest is counted |
//! | values, and names of nodes for each, in an item | 20 each | the rest is counted |
#![forbid(unsafe_code)]

mod bound;
mod compared;
mod date;
mod document;
mod drift;
mod groups;
mod judge;
mod options;
mod post_processor;
mod report;
mod summarizer;
mod tally;

pub use document::MAX_DOCUMENT;
pub use options::{DriftStatus, Options};

/// Plays both roles.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts;

/// The status of what a person should look at, and what fails nothing.
pub const WARNING: &str = "warning";

plumbline_sdk::module! {
    name: "host-facts",
    formats: ["host-facts"],
    default_files: ["**/host-facts.json"],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "certificate-days": { "type": "number", "minimum": 0 },
            "disk-percent": { "type": "number", "minimum": 0, "maximum": 100 },
            "clock-offset-seconds": { "type": "number", "minimum": 0 },
            "drift": { "enum": ["warn", "fail"] },
            "ignore": { "type": "array", "items": { "type": "string" } }
        }
    },
    post_processor: HostFacts,
    summarizer: HostFacts,
}

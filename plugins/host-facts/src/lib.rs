//! The built-in module `host-facts`. It emits the facts that `plumbline worker facts` gathers on a
//! machine as items. For all nodes of a cluster, it emits the facts that differ from the majority.
//!
//! # Items of a document
//!
//! A document is one JSON object, `{"ansible_facts": {…}, "plumbline_facts": {…}, "errors": […]}`.
//! Every key is optional, and facts may have the prefix `ansible_`. The file becomes an item. Each
//! group of facts is an item below it: `system`, `kernel`, `processors`, `memory`, `network`,
//! `mounts`, `kubelet`, `container runtime`, `cgroup`, `sysctls`, `swap`, `time`. A group is
//! `passed`, with the values as details, and is left out if it has no facts. `certificates` and
//! `disks` have an item for each entry.
//!
//! Some facts are wrong by themselves: see [`Options`]. Facts that could not be read on the machine
//! are listed in the item `errors`, which is `skipped`, with the reasons. A file that is not such a
//! document is `unknown`, with the reason under the metadata key `error`.
//!
//! # Drift
//!
//! As a summarizer, the module compares these facts of all nodes:
//!
//! * the kernel
//! * the kubelet's version and configuration
//! * the container runtime's name, version and configuration
//! * the cgroup version and controllers
//! * sysctls
//! * whether the clock is synchronized, and its offset
//! * whether there is swap
//!
//! The item `drift` has a child for each fact that differs, with the majority's value and the nodes
//! that differ. The item `totals` counts nodes by distribution, kernel, architecture, kubelet and
//! container runtime. A node without a fact is not included in the comparison of that fact.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a document | 8 MiB | it is `unknown`, with the reason |
//! | values in one fact; levels of its nesting | 20,000; 32 | the fact is left out, and the detail `cut` lists it |
//! | certificates, disks of a document | 500 each | one item for the rest, with their worst status |
//! | errors of a document | 500 | the rest is counted |
//! | different facts that are compared | 4,000 | an item of unknown status counts the rest |
//! | different values: of one fact; bytes of all | 1,000; 32 MiB | the nodes are counted under other values |
//! | items below `drift` | 500 | the rest is counted |
//! | values, and names of nodes for each, in an item | 20 each | the rest is counted |
#![forbid(unsafe_code)]

mod bound;
mod compared;
mod date;
mod document;
mod groups;
mod judge;
mod options;
mod summarizer;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use document::Document;

pub use document::MAX_DOCUMENT;
pub use options::Options;
pub use plumbline_drift_common::{DriftStatus, WARNING};

/// The post-processor and summarizer for facts.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts;

impl PostProcessor for HostFacts {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        for file in files {
            let item = Item::of_file(&file);
            match Document::read(file) {
                Ok(document) => {
                    out.emit(item);
                    groups::groups(&document).for_each(|group| out.emit(group));
                    judge::judge(&document, &options, out);
                }
                Err(reason) => out.emit(item.status(Status::Unknown).meta("error", reason)),
            }
        }
        Ok(())
    }
}

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

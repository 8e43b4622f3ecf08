//! The SDK for Plumbline modules in Rust.
//!
//! A module is a WebAssembly component that gives the results of a plugin a *meaning*. It has one
//! or more of these roles:
//!
//! * A **post-processor** reads the files of a result and emits a tree of items.
//! * **Expectations** list the results that must arrive before a plugin is complete.
//! * A **summarizer** adds items about the results of all nodes.
//! * A **judge** decides which items of the finished tree count as failures.
//! * A **check** reads a node or a cluster itself. A plugin runs it in place of an image.
//!
//! The host runs a module in a sandbox, where it sees only its arguments. You implement one trait,
//! name the type in one macro, and test the code natively like any other code.
//!
//! # Write a post-processor
//!
//! Suppose that a tool writes one line per check: a verdict, the name of the check, and optionally
//! a reason after a colon.
//!
//! ```text
//! ok   disk
//! bad  clock: 3 s behind
//! ```
//!
//! **1. The crate.** Create a library of type `cdylib` (for the component) and `rlib` (for the
//! tests). Its name is `plumbline-module-` followed by the name of the module:
//!
//! ```toml
//! [package]
//! name = "plumbline-module-verdicts"
//! edition = "2024"
//!
//! [lib]
//! crate-type = ["cdylib", "rlib"]
//!
//! [dependencies]
//! plumbline-sdk = { path = "../plumbline/plugin-sdk/rust" }
//! ```
//!
//! **2. The function.** [`PostProcessor::process`] receives the files. It reads each one as a
//! stream, because [`InputFile`] implements [`BufRead`](std::io::BufRead). It emits items in
//! pre-order: first the file, then its content one level down. The SDK sends items to the host in
//! batches, so a file may be larger than memory.
//!
//! **3. The macro.** [`module!`] turns the crate into a module. It generates the exports of the
//! component, and a custom section that describes the module. The host reads that section without
//! running the module.
//!
//! **4. The test.** [`testing`] runs the same function natively and enforces the rules of the host.
//!
//! The complete module:
//!
//! ```
//! use std::io::{self, BufRead};
//!
//! use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};
//!
//! struct Verdicts;
//!
//! impl PostProcessor for Verdicts {
//!     fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
//!         for file in files {
//!             // No status: the host rolls it up from the items below.
//!             out.emit(Item::of_file(&file));
//!             if let Err(error) = read(file, out) {
//!                 // An unreadable file must not stop the others, and it must not pass either.
//!                 out.emit(Item::new(1, "unreadable").status(Status::Unknown).meta("error", error.to_string()));
//!             }
//!         }
//!         Ok(())
//!     }
//! }
//!
//! fn read(file: InputFile, out: &mut Output) -> io::Result<()> {
//!     for line in file.lines() {
//!         let line = line?;
//!         let Some((verdict, rest)) = line.split_once(' ') else { continue };
//!         let (name, reason) = rest.split_once(':').unwrap_or((rest, ""));
//!         let status = match verdict {
//!             "ok" => Status::Passed,
//!             "bad" => Status::Failed,
//!             _ => Status::Unknown,
//!         };
//!         let mut item = Item::new(1, name.trim()).status(status);
//!         if !reason.is_empty() {
//!             item = item.text("failure", reason.trim());
//!         }
//!         out.emit(item);
//!     }
//!     Ok(())
//! }
//!
//! plumbline_sdk::module! {
//!     name: "verdicts",
//!     formats: ["verdicts"],
//!     default_files: ["**/*.verdicts"],
//!     post_processor: Verdicts,
//! }
//!
//! // In `tests/`:
//! use plumbline_sdk::testing::Case;
//!
//! # fn main() {
//! let run = Case::new().file("results/global/node.verdicts", "ok   disk\nbad  clock: 3 s behind\n").run::<Verdicts>();
//! assert_eq!(run.outline(), "node.verdicts: -\n  disk: passed\n  clock: failed\n");
//!
//! // Also test a read error in the middle of a file.
//! let run = Case::new().broken_file("results/global/node.verdicts", "ok disk\n", "I/O error").run::<Verdicts>();
//! assert_eq!(run.item("unreadable").unwrap().meta, [("error".to_owned(), "I/O error".to_owned())]);
//! # }
//! ```
//!
//! **5. The component.** Run `plumbline plugin build` in a directory with a `module.yaml` (see
//! `docs/modules.md`). `plumbline plugin new` writes that file. The command builds for
//! `wasm32-unknown-unknown`, turns the result into a component, and checks it as a host does:
//!
//! ```text
//! name: verdicts
//! language: rust
//! ```
//!
//! **6. The plugin.** Put `verdicts.wasm` next to a `plugin.yaml` with `result-format: verdicts`.
//! Then try it on a directory of results: `plumbline plugin postprocess --definition plugin.yaml DIR`.
//! The authors' guide (`docs/authors-guide.md`) leads from an empty directory to a signed bundle in
//! a registry.
//!
//! # Options
//!
//! A definition can pass options to its module. Read them into a type of your own with
//! [`PluginInfo::options`], so that a misspelled option is reported before any file is read. Tests
//! set options with [`Case::option`](testing::Case::option).
//!
//! # Errors
//!
//! | problem | what to do | what people see |
//! |---|---|---|
//! | a file cannot be read or parsed | emit an item with [`Status::Unknown`] and the cause under the metadata key `error`; continue with the next file | that item, and a plugin that does not pass |
//! | nothing can be processed, for example because of invalid options | return `Err` with a sentence | the items emitted so far, and an item of status `unknown` with the sentence |
//! | the module has a bug | a panic ends the call, and its message goes to the log of the run | the items emitted so far, and an item with the name of the module and the cause |
//!
//! Other plugins, and other result sets of the same plugin, are never affected: each call gets its
//! own instance.
//!
//! # Limits
//!
//! The host limits every call. The table lists the defaults; a definition may ask for other values.
//! If a module exceeds a limit, the host stops it and keeps the items emitted so far.
//!
//! | limit | default |
//! |---|---|
//! | wall clock | 300 s |
//! | memory | 256 MiB |
//! | stack | 1 MiB |
//! | bytes read | 4 GiB |
//! | items | 5,000,000 |
//! | bytes emitted | 2 GiB in total, 16 MiB per item |
//! | depth of the tree | 64 levels |
//! | log | 64 KiB; the rest is dropped |
//!
//! Read files as streams, and emit each item as soon as it is complete. Bound everything that a
//! hostile file could make you keep in memory: line lengths, string lengths, nesting levels
//! ([`input::read_line`], [`InputFile::read_within`] and [`text`] help). Native tests enforce the rules
//! of an [`Item`], but none of these limits.
//!
//! A module is a function of its arguments. Only a check reads more, and only what is granted. The
//! host rejects a module that imports sockets or HTTP when it loads it.
//!
//! # Expectations
//!
//! [`Expectations::expected_results`] receives the plugin, its `podSpec` and the nodes, and returns
//! the results that must arrive:
//!
//! ```
//! use plumbline_sdk::{Expectations, Expected, Node, PluginInfo, testing::Case};
//!
//! /// Expects one result from each node that is ready.
//! struct Ready;
//!
//! impl Expectations for Ready {
//!     fn expected_results(
//!         _plugin: &PluginInfo,
//!         _pod_spec: Option<&serde_json::Value>,
//!         nodes: &[Node],
//!     ) -> Result<Vec<Expected>, String> {
//!         Ok(nodes.iter().filter(|node| node.ready).map(|node| Expected::Node(node.name.clone())).collect())
//!     }
//! }
//!
//! plumbline_sdk::module! { name: "ready", formats: [], default_files: [], expectations: Ready }
//!
//! # fn main() {
//! let down = Node { ready: false, ..Node::new("b") };
//! let expected = Case::new().driver("DaemonSet").node(Node::new("a")).node(down).expected::<Ready>();
//! assert_eq!(expected, Ok(vec![Expected::Node("a".to_owned())]));
//! # }
//! ```
//!
//! # Summarizers
//!
//! [`Summarizer::summarize`] reads the items of all result sets of a plugin once they are complete.
//! It emits further items, which appear next to the nodes in the tree:
//!
//! ```
//! use plumbline_sdk::{Entry, Item, Output, PluginInfo, Results, Status, Summarizer, testing::Case};
//!
//! /// Counts the failed items of all nodes.
//! struct Failures;
//!
//! impl Summarizer for Failures {
//!     fn summarize(_plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String> {
//!         let mut failed = 0;
//!         for entry in results {
//!             let Entry { item, .. } = entry?;
//!             failed += usize::from(item.status == Some(Status::Failed));
//!         }
//!         out.emit(Item::new(0, "total").status(Status::Passed).text("failed", failed.to_string()));
//!         Ok(())
//!     }
//! }
//!
//! plumbline_sdk::module! { name: "failures", formats: [], default_files: [], summarizer: Failures }
//!
//! # fn main() {
//! let disk = |status| Item::new(0, "disk").status(status);
//! let run = Case::new()
//!     .results("node-1", [disk(Status::Passed)])
//!     .results("node-2", [disk(Status::Failed)])
//!     .summarize::<Failures>();
//! assert_eq!(run.outline(), "total: passed\n");
//! # }
//! ```
//!
//! # Judges
//!
//! A tree says what happened, and a judge decides what counts. [`Judge::judge`] reads the finished
//! tree. It rules on leaves (their class, and whether they count as failures) and reports checks,
//! which are requirements on the results as a whole. A definition lists its judges in a chain, each
//! with its own options and files:
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::io::BufRead;
//!
//! use plumbline_sdk::{Check, InputFile, Item, Judge, Outcome, PluginInfo, Ruling, Rulings, Status, Tree, testing::Case};
//!
//! /// Excuses the failures that a list contains.
//! struct Known;
//!
//! impl Judge for Known {
//!     fn judge(
//!         _plugin: &PluginInfo,
//!         tree: Tree,
//!         evidence: Vec<InputFile>,
//!         out: &mut Rulings,
//!     ) -> Result<(), String> {
//!         let mut known = BTreeSet::new();
//!         for file in evidence {
//!             for line in file.lines() {
//!                 known.insert(line.map_err(|error| error.to_string())?);
//!             }
//!         }
//!         let mut unused = known.clone();
//!         for judged in tree {
//!             let judged = judged?;
//!             // Respect the rulings of earlier judges.
//!             if judged.is_open_failure() && known.contains(&judged.item.name) {
//!                 unused.remove(&judged.item.name);
//!                 out.rule(judged.index, Ruling::excused("known-failure", "listed as known"));
//!             }
//!         }
//!         let outcome = if unused.is_empty() { Outcome::Passed } else { Outcome::Failed };
//!         out.report(Check::new("LIST-001", "no unused entries", outcome).got(format!("{} unused", unused.len())));
//!         Ok(())
//!     }
//! }
//!
//! plumbline_sdk::module! { name: "known", formats: [], default_files: [], judge: Known }
//!
//! # fn main() {
//! let test = |name: &str, status| Item::new(1, name).status(status);
//! let judged = Case::new()
//!     .file("data/known.txt", "dns\n")
//!     .results("global", [Item::new(0, "suite").status(Status::Failed), test("dns", Status::Failed), test("lb", Status::Failed)])
//!     .judge::<Known>();
//! assert_eq!(judged.outline(), "global/dns: known-failure, excused: listed as known\nLIST-001: passed\n");
//! assert_eq!(judged.ruling("lb"), None);
//! # }
//! ```
//!
//! # Checks
//!
//! [`Checker::run`] reads files, environment variables and objects of the cluster through its
//! [`Context`]. The key `rights` of [`module!`] declares what it needs, and a definition grants it
//! (`docs/checks.md`):
//!
//! ```
//! use plumbline_sdk::{Checker, Context, Item, ObjectQuery, Output, PluginInfo, Status, testing::Case};
//!
//! /// Checks that swap is off, and that every node is schedulable.
//! struct Nodes;
//!
//! impl Checker for Nodes {
//!     fn run(_plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
//!         let swaps = context.read_to_string("/proc/swaps")?;
//!         let status = if swaps.lines().count() > 1 { Status::Failed } else { Status::Passed };
//!         out.emit(Item::new(0, "swap is off").status(status));
//!         for node in context.list(&ObjectQuery::new("v1", "nodes"))? {
//!             let node = node?;
//!             let cordoned = node["spec"]["unschedulable"].as_bool().unwrap_or_default();
//!             let status = if cordoned { Status::Failed } else { Status::Passed };
//!             out.emit(Item::new(0, node["metadata"]["name"].as_str().unwrap_or("?")).status(status));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! plumbline_sdk::module! {
//!     name: "nodes",
//!     formats: [],
//!     default_files: [],
//!     rights: { "files": ["/proc"], "kubernetes": [{ "api-version": "v1", "resources": ["nodes"] }] },
//!     check: Nodes,
//! }
//!
//! # fn main() {
//! use serde_json::json;
//!
//! let run = Case::new()
//!     .node_file("/proc/swaps", "Filename Type Size Used Priority\n")
//!     .objects("v1", "nodes", [json!({"metadata": {"name": "a"}, "spec": {"unschedulable": true}})])
//!     .check::<Nodes>();
//! assert_eq!(run.outline(), "swap is off: passed\na: failed\n");
//! # }
//! ```
#![forbid(unsafe_code)]

// Lets the generated bindings refer to this crate by the same name from inside and outside.
extern crate self as plumbline_sdk;

mod batches;
pub mod context;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod guest;
pub mod input;
pub mod item;
pub mod judgement;
pub mod log;
#[doc(hidden)]
pub mod metadata;
mod module;
pub mod network;
mod node;
pub mod output;
mod plugin;
pub mod results;
mod roles;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod text;

pub use batches::Batches;
pub use context::{Context, ObjectQuery};
pub use input::InputFile;
pub use item::{Detail, Item, Status};
pub use judgement::{Check, JudgedItem, Outcome, Ruling, Rulings, Tree};
pub use node::{Expected, Node, Taint};
pub use output::Output;
pub use plugin::PluginInfo;
pub use results::{Entry, Results};
pub use roles::{Checker, Expectations, Judge, PostProcessor, Summarizer};

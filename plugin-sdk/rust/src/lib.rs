//! Write a module for Plumbline in Rust.
//!
//! A module is a WebAssembly component that says what the results of a plugin *mean*: a **post-processor** turns files into a tree of
//! items, an **expectation** says who must answer before a plugin is complete, a **summarizer** says what all results come to, a
//! **judge** says what of the finished tree counts. The host runs it in a sandbox, where it sees nothing but its arguments. An author writes one function, names it in one macro, and tests
//! it natively like any other code.
//!
//! # A post-processor, step by step
//!
//! Some tool writes a line for each of its checks: a verdict, then what was checked, then perhaps a reason after a colon.
//!
//! ```text
//! ok   disk
//! bad  clock: 3 s behind
//! ```
//!
//! **1. The crate.** A library of type `cdylib` (for the component) and `rlib` (for the tests); its name begins with
//! `plumbline-module-`, and what follows is the module's name:
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
//! **2. The function.** [`PostProcessor::process`] gets the files, each of which is read as a stream ([`InputFile`] is a
//! [`BufRead`](std::io::BufRead)), and emits items in pre-order: first the file, then what stands in it, one level down. Items go out in
//! batches by themselves, so a file may be larger than memory.
//!
//! **3. The macro.** [`module!`] makes the crate a module: it generates the component's exports, and a section from which the host reads
//! what the module is without running it.
//!
//! **4. The test.** [`testing`] runs the same function natively and checks what the host would check.
//!
//! All of it together:
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
//!             out.emit(Item::new(0, file.file_name()).meta("file", file.path()).meta("type", "file"));
//!             if let Err(error) = read(file, out) {
//!                 // A file that cannot be read is no reason to stop; it must not pass either.
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
//! // A disk that breaks is a case to test, too.
//! let run = Case::new().broken_file("results/global/node.verdicts", "ok disk\n", "the disk is gone").run::<Verdicts>();
//! assert_eq!(run.item("unreadable").unwrap().meta, [("error".to_owned(), "the disk is gone".to_owned())]);
//! # }
//! ```
//!
//! **5. The component.** `plumbline plugin build`, in a directory with a `module.yaml` (`docs/modules.md`; `plumbline plugin new` writes
//! one), builds for `wasm32-unknown-unknown`, makes a component of what comes out, and checks it as a host does:
//!
//! ```text
//! name: verdicts
//! language: rust
//! ```
//!
//! **6. The plugin.** Put `verdicts.wasm` beside the `plugin.yaml` whose `result-format` is `verdicts`, and try it on a directory of
//! results: `plumbline plugin process --definition plugin.yaml DIR`. The authors' guide (`docs/authors-guide.md`) goes this way
//! from nothing to a signed bundle in a registry.
//!
//! # Options
//!
//! A definition gives its module free options. Read them into a type of your own with [`PluginInfo::options`]: a misspelt one is named
//! before anything is read. Tests set them with [`Case::option`](testing::Case::option).
//!
//! # Errors
//!
//! | what happened | what to do | what a person sees |
//! |---|---|---|
//! | a file cannot be read, or is not what it should be | emit an item with [`Status::Unknown`] and the cause under the meta key `error`; go on with the next file | that item, and a plugin that has not passed |
//! | nothing can be done at all, such as options that make no sense | return `Err` with a sentence | what was emitted, and an item `unknown` with the sentence |
//! | the module has a bug | a panic ends the call, and its message goes to the run's log | what was emitted, and an item that names the module and the cause |
//!
//! In no case are other plugins, or other result sets of the same plugin, touched: each call has an instance of its own.
//!
//! # Limits
//!
//! The host bounds every call; these are its defaults, and a definition may ask for others. A module that goes over one is ended, and
//! what it emitted before stays.
//!
//! | limit | default |
//! |---|---|
//! | wall clock | 300 s |
//! | memory | 256 MiB |
//! | stack | 1 MiB |
//! | bytes read | 4 GiB |
//! | items | 5,000,000 |
//! | bytes emitted | 2 GiB together, 16 MiB per item |
//! | depth of the tree | 64 levels |
//! | log | 64 KiB; the rest is dropped |
//!
//! So read as a stream, emit an item as soon as it is complete, and bound what a hostile file can make you keep: the length of a line, of
//! a text, the levels of nesting. Native tests have no limits but the rules of an [`Item`].
//!
//! There is no file system, no network, no environment and no clock: a module is a function of its arguments. One that imports sockets or
//! HTTP is refused when it is loaded.
//!
//! # Expectations
//!
//! The other role. [`Expectations::expected_results`] sees the plugin, its `podSpec` and the nodes, and names each result that must
//! arrive:
//!
//! ```
//! use plumbline_sdk::{Expectations, Expected, Node, PluginInfo, testing::Case};
//!
//! /// One result of each node that is ready.
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
//! The third role. [`Summarizer::summarize`] reads the items of all result sets of a plugin, once they are in, and emits further items, which
//! stand beside the nodes:
//!
//! ```
//! use plumbline_sdk::{Entry, Item, Output, PluginInfo, Results, Status, Summarizer, testing::Case};
//!
//! /// How many items failed, over all nodes.
//! struct Failures;
//!
//! impl Summarizer for Failures {
//!     fn summarize(_plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String> {
//!         let mut failed = 0;
//!         for entry in results {
//!             let Entry { item, .. } = entry?;
//!             failed += usize::from(item.status == Some(Status::Failed));
//!         }
//!         out.emit(Item::new(0, "in all").status(Status::Passed).text("failed", failed.to_string()));
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
//! assert_eq!(run.outline(), "in all: passed\n");
//! # }
//! ```
//!
//! # Judges
//!
//! The fourth role. A tree says what happened; a judge says what of it counts. [`Judge::judge`] reads the finished tree, and says of its
//! leaves what class they are of and whether they count as failures, and of the whole which requirements it meets. A definition names its
//! judges in a chain, each with options and files of its own:
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::io::BufRead;
//!
//! use plumbline_sdk::{Check, InputFile, Item, Judge, Outcome, PluginInfo, Ruling, Rulings, Status, Tree, testing::Case};
//!
//! /// A failure that stands in a list does not count.
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
//!         let mut unread = known.clone();
//!         for judged in tree {
//!             let judged = judged?;
//!             // What an earlier judge said stands.
//!             if judged.is_open_failure() && known.contains(&judged.item.name) {
//!                 unread.remove(&judged.item.name);
//!                 out.rule(judged.index, Ruling::excused("known-failure", "it stands in the list"));
//!             }
//!         }
//!         let outcome = if unread.is_empty() { Outcome::Passed } else { Outcome::Failed };
//!         out.report(Check::new("LIST-001", "the list is up to date", outcome).got(format!("{} pass", unread.len())));
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
//! assert_eq!(judged.outline(), "global/dns: known-failure, excused: it stands in the list\nLIST-001: passed\n");
//! assert_eq!(judged.ruling("lb"), None);
//! # }
//! ```
#![forbid(unsafe_code)]

// Generated bindings name this crate from inside and from outside alike.
extern crate self as plumbline_sdk;

mod batches;
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
mod node;
pub mod output;
mod plugin;
pub mod results;
mod roles;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use batches::Batches;
pub use input::InputFile;
pub use item::{Detail, Item, Status};
pub use judgement::{Check, JudgedItem, Outcome, Ruling, Rulings, Tree};
pub use node::{Expected, Node, Taint};
pub use output::Output;
pub use plugin::PluginInfo;
pub use results::{Entry, Results};
pub use roles::{Expectations, Judge, PostProcessor, Summarizer};

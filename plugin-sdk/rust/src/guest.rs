//! The module's side of the boundary: the generated bindings, and their conversion to the types of
//! the SDK. Compiled only for `wasm32`.

mod check;

use std::panic;

use crate::batches::BatchSource;
use crate::input::{InputFile, Source};
use crate::judgement::RulingSink;
use crate::log::Level;
use crate::{
    Check, Checker, Context, Entry, Expectations, Expected, Judge, JudgedItem, Node, Outcome, Output, PluginInfo,
    PostProcessor, Results, Ruling, Rulings, Summarizer, Taint, Tree,
};

use expectations::exports::plumbline::plugin::expectations as expectations_role;
use judge::plumbline::plugin::judgement;
use post_processor::plumbline::plugin::{input, log, output};
use summarizer::plumbline::plugin::results;

/// The records of the interface `types`. Items cross the boundary as the author built them, without
/// conversion.
pub mod types {
    pub use crate::item::{Detail, Item, Status};

    /// The record `plugin-info`, with the options still as text.
    #[derive(Debug)]
    pub struct PluginInfo {
        /// The plugin's name.
        pub name: String,
        /// The driver.
        pub driver: String,
        /// The `result-format`.
        pub format: String,
        /// The number of results that the run expects.
        pub expected_results: u32,
        /// The options as a JSON object.
        pub options: String,
    }
}

/// Bindings of the world `post-processor-module`.
#[expect(missing_docs, reason = "generated")]
pub mod post_processor {
    wit_bindgen::generate!({
        world: "post-processor-module",
        path: "../../wit",
        pub_export_macro: true,
        runtime_path: "plumbline_sdk::guest::rt",
        with: { "plumbline:plugin/types@0.1.0": crate::guest::types },
    });
}

/// Bindings of the world `expectations-module`.
#[expect(missing_docs, reason = "generated")]
pub mod expectations {
    wit_bindgen::generate!({
        world: "expectations-module",
        path: "../../wit",
        pub_export_macro: true,
        runtime_path: "plumbline_sdk::guest::rt",
        with: {
            "plumbline:plugin/types@0.1.0": crate::guest::types,
            "plumbline:plugin/log@0.1.0": crate::guest::post_processor::plumbline::plugin::log,
        },
    });
}

/// Bindings of the world `summarizer-module`.
#[expect(missing_docs, reason = "generated")]
pub mod summarizer {
    wit_bindgen::generate!({
        world: "summarizer-module",
        path: "../../wit",
        pub_export_macro: true,
        runtime_path: "plumbline_sdk::guest::rt",
        with: {
            "plumbline:plugin/types@0.1.0": crate::guest::types,
            "plumbline:plugin/output@0.1.0": crate::guest::post_processor::plumbline::plugin::output,
            "plumbline:plugin/log@0.1.0": crate::guest::post_processor::plumbline::plugin::log,
        },
    });
}

/// Bindings of the world `judge-module`.
#[expect(missing_docs, reason = "generated")]
pub mod judge {
    wit_bindgen::generate!({
        world: "judge-module",
        path: "../../wit",
        pub_export_macro: true,
        runtime_path: "plumbline_sdk::guest::rt",
        with: {
            "plumbline:plugin/types@0.1.0": crate::guest::types,
            "plumbline:plugin/input@0.1.0": crate::guest::post_processor::plumbline::plugin::input,
            "plumbline:plugin/log@0.1.0": crate::guest::post_processor::plumbline::plugin::log,
        },
    });
}

/// Bindings of the world `check-module`.
#[expect(missing_docs, reason = "generated")]
pub mod check_role {
    wit_bindgen::generate!({
        world: "check-module",
        path: "../../wit",
        pub_export_macro: true,
        runtime_path: "plumbline_sdk::guest::rt",
        with: {
            "plumbline:plugin/types@0.1.0": crate::guest::types,
            "plumbline:plugin/output@0.1.0": crate::guest::post_processor::plumbline::plugin::output,
            "plumbline:plugin/log@0.1.0": crate::guest::post_processor::plumbline::plugin::log,
        },
    });
}

/// Bindings of the part of WASI that checks use.
#[expect(missing_docs, reason = "generated")]
pub mod wasi {
    wit_bindgen::generate!({
        world: "plumbline:sdk/wasi",
        path: "wit/wasi.wit",
        runtime_path: "plumbline_sdk::guest::rt",
        generate_all,
    });
}

/// The runtime that the generated bindings use.
pub mod rt {
    pub use wit_bindgen::rt::*;
}

/// Runs the role `post-processor` for the host.
///
/// # Errors
///
/// The error of the author's function, or options that are not JSON.
pub fn process<P: PostProcessor>(plugin: types::PluginInfo, files: Vec<input::File>) -> Result<(), String> {
    report_panics();
    let plugin = plugin_info(plugin)?;
    let files = input_files(files);
    let mut out = Output::new(Box::new(|batch| output::emit(batch)));
    P::process(&plugin, files, &mut out)
}

/// Runs the role `expectations` for the host.
///
/// # Errors
///
/// The error of the author's function, or options or a pod spec that are not JSON.
pub fn expected_results<E: Expectations>(
    plugin: types::PluginInfo,
    pod_spec: Option<String>,
    nodes: Vec<expectations_role::Node>,
) -> Result<Vec<expectations_role::ExpectedResult>, String> {
    report_panics();
    let plugin = plugin_info(plugin)?;
    let pod_spec = pod_spec.map(|text| json(&text, "pod spec")).transpose()?;
    let nodes: Vec<Node> = nodes.into_iter().map(Node::from).collect();
    let expected = E::expected_results(&plugin, pod_spec.as_ref(), &nodes)?;
    Ok(expected.into_iter().map(expectations_role::ExpectedResult::from).collect())
}

/// Runs the role `summarizer` for the host.
///
/// # Errors
///
/// The error of the author's function, or options that are not JSON.
pub fn summarize<S: Summarizer>(plugin: types::PluginInfo, items: results::Items) -> Result<(), String> {
    report_panics();
    let plugin = plugin_info(plugin)?;
    let mut out = Output::new(Box::new(|batch| output::emit(batch)));
    S::summarize(&plugin, Results::new(Box::new(HostItems(items))), &mut out)
}

/// Runs the role `judge` for the host.
///
/// # Errors
///
/// The error of the author's function, or options that are not JSON.
pub fn judge_tree<J: Judge>(
    plugin: types::PluginInfo,
    tree: judgement::Tree,
    evidence: Vec<input::File>,
) -> Result<(), String> {
    report_panics();
    let plugin = plugin_info(plugin)?;
    let mut out = Rulings::new(Box::new(HostRulings));
    J::judge(&plugin, Tree::new(Box::new(HostTree(tree))), input_files(evidence), &mut out)
}

/// Runs the role `check` for the host.
///
/// # Errors
///
/// The error of the author's function, or options that are not JSON.
pub fn run_check<C: Checker>(plugin: types::PluginInfo) -> Result<(), String> {
    report_panics();
    let plugin = plugin_info(plugin)?;
    let mut out = Output::new(Box::new(|batch| output::emit(batch)));
    C::run(&plugin, &mut Context::new(Box::new(check::Sandbox::new())), &mut out)
}

fn input_files(files: Vec<input::File>) -> Vec<InputFile> {
    files.into_iter().map(|file| InputFile::new(file.path(), file.size(), Box::new(HostFile(file)))).collect()
}

pub(crate) fn write_log(level: Level, message: &str) {
    let level = match level {
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warning => log::Level::Warning,
        Level::Error => log::Level::Error,
    };
    log::write(level, message);
}

/// Writes the message of a panic to the log. A panic ends the instance with a trap, which carries
/// no message.
fn report_panics() {
    panic::set_hook(Box::new(|info| write_log(Level::Error, &info.to_string())));
}

fn plugin_info(plugin: types::PluginInfo) -> Result<PluginInfo, String> {
    let types::PluginInfo { name, driver, format, expected_results, options } = plugin;
    let options = json(&options, "module's options")?;
    Ok(PluginInfo { name, driver, format, expected_results, options })
}

fn json(text: &str, what: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the {what} that the host gave are not JSON: {error}"))
}

struct HostFile(input::File);

impl Source for HostFile {
    fn read(&mut self, max: u32) -> Result<Vec<u8>, String> {
        self.0.read(max)
    }
}

struct HostItems(results::Items);

impl BatchSource<Entry> for HostItems {
    fn next(&mut self, max: u32) -> Result<Vec<Entry>, String> {
        let entries = self.0.next(max)?;
        Ok(entries.into_iter().map(|results::Entry { set, item }| Entry { set, item }).collect())
    }
}

struct HostTree(judgement::Tree);

impl BatchSource<JudgedItem> for HostTree {
    fn next(&mut self, max: u32) -> Result<Vec<JudgedItem>, String> {
        let items = self.0.next(max)?;
        let item = |judgement::JudgedItem { index, set, item, leaf, ruling }| JudgedItem {
            index,
            set,
            item,
            leaf,
            ruling: ruling.map(|judgement::Ruling { class, counts, reason, source }| Ruling {
                class,
                counts,
                reason,
                source,
            }),
        };
        Ok(items.into_iter().map(item).collect())
    }
}

struct HostRulings;

impl RulingSink for HostRulings {
    fn rule(&mut self, rulings: &mut Vec<(u64, Ruling)>) {
        let ruling = |(index, Ruling { class, counts, reason, source })| {
            (index, judgement::Ruling { class, counts, reason, source })
        };
        judgement::rule(&rulings.drain(..).map(ruling).collect::<Vec<_>>());
    }

    fn report(&mut self, checks: &mut Vec<Check>) {
        let check = |Check { id, name, outcome, want, got, reason }| {
            let outcome = match outcome {
                Outcome::Passed => judgement::Outcome::Passed,
                Outcome::Failed => judgement::Outcome::Failed,
                Outcome::Unknown => judgement::Outcome::Unknown,
            };
            judgement::Check { id, name, outcome, want, got, reason }
        };
        judgement::report(&checks.drain(..).map(check).collect::<Vec<_>>());
    }
}

impl From<expectations_role::Node> for Node {
    fn from(node: expectations_role::Node) -> Self {
        let expectations_role::Node { name, labels, taints, ready, unschedulable, os, arch } = node;
        let taints = taints
            .into_iter()
            .map(|taint| Taint { key: taint.key, value: taint.value, effect: taint.effect })
            .collect();
        Self { name, labels: labels.into_iter().collect(), taints, ready, unschedulable, os, arch }
    }
}

impl From<Expected> for expectations_role::ExpectedResult {
    fn from(expected: Expected) -> Self {
        match expected {
            Expected::Global => Self::Global,
            Expected::Node(name) => Self::Node(name),
        }
    }
}

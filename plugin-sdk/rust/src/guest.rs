//! The module's side of the boundary: the generated bindings, and their conversion to the types of
//! the SDK. Compiled only for `wasm32`.

mod check;

use std::marker::PhantomData;
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

/// The exports of a component, for each role that `T` implements. Each call returns the error of the
/// author's function, or says which text of the host is not JSON.
#[derive(Debug)]
pub struct Component<T>(PhantomData<T>);

impl<P: PostProcessor> post_processor::exports::plumbline::plugin::post_processor::Guest for Component<P> {
    fn process(plugin: types::PluginInfo, files: Vec<input::File>) -> Result<(), String> {
        let plugin = begin(plugin)?;
        P::process(&plugin, input_files(files), &mut host_output())
    }
}

impl<E: Expectations> expectations_role::Guest for Component<E> {
    fn expected_results(
        plugin: types::PluginInfo,
        pod_spec: Option<String>,
        nodes: Vec<expectations_role::Node>,
    ) -> Result<Vec<expectations_role::ExpectedResult>, String> {
        let plugin = begin(plugin)?;
        let pod_spec = pod_spec.map(|text| json(&text, "pod spec")).transpose()?;
        let nodes: Vec<Node> = nodes.into_iter().map(Node::from).collect();
        let expected = E::expected_results(&plugin, pod_spec.as_ref(), &nodes)?;
        Ok(expected.into_iter().map(expectations_role::ExpectedResult::from).collect())
    }
}

impl<S: Summarizer> summarizer::exports::plumbline::plugin::summarizer::Guest for Component<S> {
    fn summarize(plugin: types::PluginInfo, items: results::Items) -> Result<(), String> {
        let plugin = begin(plugin)?;
        S::summarize(&plugin, Results::new(Box::new(HostItems(items))), &mut host_output())
    }
}

impl<J: Judge> judge::exports::plumbline::plugin::judge::Guest for Component<J> {
    fn judge(plugin: types::PluginInfo, tree: judgement::Tree, evidence: Vec<input::File>) -> Result<(), String> {
        let plugin = begin(plugin)?;
        let mut out = Rulings::new(Box::new(HostRulings));
        J::judge(&plugin, Tree::new(Box::new(HostTree(tree))), input_files(evidence), &mut out)
    }
}

impl<C: Checker> check_role::exports::plumbline::plugin::check::Guest for Component<C> {
    fn run(plugin: types::PluginInfo) -> Result<(), String> {
        let plugin = begin(plugin)?;
        C::run(&plugin, &mut Context::new(Box::new(check::Sandbox::new())), &mut host_output())
    }
}

/// Begins a call: writes the message of a panic to the log, and reads the options. A panic ends the
/// instance with a trap, which carries no message.
fn begin(plugin: types::PluginInfo) -> Result<PluginInfo, String> {
    panic::set_hook(Box::new(|info| write_log(Level::Error, &info.to_string())));
    let types::PluginInfo { name, driver, format, expected_results, options } = plugin;
    let options = json(&options, "module's options")?;
    Ok(PluginInfo { name, driver, format, expected_results, options })
}

fn host_output() -> Output {
    Output::new(Box::new(|batch| output::emit(batch)))
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

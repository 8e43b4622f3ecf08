//! Binds components to roles and calls them.

use std::collections::{HashMap, HashSet};

use plumbline_core::{Node, NodeName};
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Linker, Resource};

use super::bindings::check::CheckModulePre;
use super::bindings::check::plumbline::plugin::{cluster, network, ownership, progress};
use super::bindings::expectations::ExpectationsModulePre;
use super::bindings::expectations::exports::plumbline::plugin::expectations as wit;
use super::bindings::judge::JudgeModulePre;
use super::bindings::judge::plumbline::plugin::judgement;
use super::bindings::post_processor::plumbline::plugin::types;
use super::bindings::post_processor::{PostProcessorModule, PostProcessorModulePre};
use super::bindings::summarizer::SummarizerModulePre;
use super::bindings::summarizer::plumbline::plugin::results;
use crate::call::input::{FileHandle, ItemsHandle};
use crate::call::io::{Expect, PluginInfo};
use crate::call::judgement::TreeHandle;
use crate::call::state::CallState;
use crate::failure::{Stop, quoted};
use crate::inspect::Roles;

/// The maximum length in bytes of a name that a message quotes.
const MAX_QUOTED: usize = 300;

pub(crate) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    PostProcessorModule::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    // The other imports of summarizers, judges and checks are already there.
    results::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    judgement::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    cluster::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    ownership::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    network::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    progress::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

/// A component bound to its roles, with its exports found and their types checked.
#[derive(Clone)]
pub(crate) struct Bound {
    post_processor: Option<PostProcessorModulePre<CallState>>,
    expectations: Option<ExpectationsModulePre<CallState>>,
    summarizer: Option<SummarizerModulePre<CallState>>,
    judge: Option<JudgeModulePre<CallState>>,
    check: Option<CheckModulePre<CallState>>,
}

/// The return value of a role's function. The inner error is from the module.
pub(crate) type Answer<T> = wasmtime::Result<Result<T, String>>;

impl Bound {
    pub(crate) fn new(pre: &InstancePre<CallState>, roles: Roles) -> wasmtime::Result<Self> {
        Ok(Self {
            post_processor: roles.post_processor.then(|| PostProcessorModulePre::new(pre.clone())).transpose()?,
            expectations: roles.expectations.then(|| ExpectationsModulePre::new(pre.clone())).transpose()?,
            summarizer: roles.summarizer.then(|| SummarizerModulePre::new(pre.clone())).transpose()?,
            judge: roles.judge.then(|| JudgeModulePre::new(pre.clone())).transpose()?,
            check: roles.check.then(|| CheckModulePre::new(pre.clone())).transpose()?,
        })
    }

    pub(crate) fn process(&self, store: &mut Store<CallState>, plugin: &PluginInfo) -> Option<Answer<()>> {
        self.post_processor.as_ref().map(|pre| {
            let module = pre.instantiate(&mut *store)?;
            let files = files(store)?;
            module.plumbline_plugin_post_processor().call_process(store, &plugin_info(plugin), &files)
        })
    }

    pub(crate) fn summarize(&self, store: &mut Store<CallState>, plugin: &PluginInfo) -> Option<Answer<()>> {
        self.summarizer.as_ref().map(|pre| {
            let module = pre.instantiate(&mut *store)?;
            let items: Resource<ItemsHandle> = Resource::new_own(0);
            module.plumbline_plugin_summarizer().call_summarize(store, &plugin_info(plugin), items)
        })
    }

    pub(crate) fn judge(&self, store: &mut Store<CallState>, plugin: &PluginInfo) -> Option<Answer<()>> {
        self.judge.as_ref().map(|pre| {
            let module = pre.instantiate(&mut *store)?;
            let evidence = files(store)?;
            let tree: Resource<TreeHandle> = Resource::new_own(0);
            module.plumbline_plugin_judge().call_judge(store, &plugin_info(plugin), tree, &evidence)
        })
    }

    pub(crate) fn run_check(&self, store: &mut Store<CallState>, plugin: &PluginInfo) -> Option<Answer<()>> {
        self.check.as_ref().map(|pre| {
            let module = pre.instantiate(&mut *store)?;
            module.plumbline_plugin_check().call_run(store, &plugin_info(plugin))
        })
    }

    pub(crate) fn expected_results(
        &self,
        store: &mut Store<CallState>,
        call: &Expect<'_>,
    ) -> Option<Answer<Vec<NodeName>>> {
        self.expectations.as_ref().map(|pre| {
            let module = pre.instantiate(&mut *store)?;
            let nodes: Vec<wit::Node> = call.nodes.iter().map(node).collect();
            let pod_spec = call.pod_spec.map(Value::to_string);
            let role = module.plumbline_plugin_expectations();
            let answer = role.call_expected_results(store, &plugin_info(call.plugin), pod_spec.as_deref(), &nodes)?;
            Ok(match answer {
                Ok(expected) => Ok(checked(expected, call.nodes)?),
                Err(sentence) => Err(sentence),
            })
        })
    }
}

fn files(store: &Store<CallState>) -> wasmtime::Result<Vec<Resource<FileHandle>>> {
    let count = u32::try_from(store.data().files.files.len())?;
    Ok((0..count).map(Resource::new_own).collect())
}

/// Checks that the expected results are known nodes without duplicates.
fn checked(expected: Vec<wit::ExpectedResult>, nodes: &[Node]) -> Result<Vec<NodeName>, Stop> {
    let known: HashMap<&str, &NodeName> = nodes.iter().map(|node| (node.name.as_str(), &node.name)).collect();
    let mut seen = HashSet::new();
    let mut names = Vec::with_capacity(expected.len());
    for result in expected {
        let name = match result {
            wit::ExpectedResult::Global => NodeName::global(),
            wit::ExpectedResult::Node(name) => {
                let node = known.get(name.as_str());
                let rule = "an expected result must be of a node of the cluster";
                node.map(|node| (*node).clone()).ok_or_else(|| Stop::rubbish(rule, quoted(&name, MAX_QUOTED)))?
            }
        };
        if !seen.insert(name.clone()) {
            return Err(Stop::rubbish("an expected result must be listed once", format!("`{name}`")));
        }
        names.push(name);
    }
    Ok(names)
}

fn plugin_info(plugin: &PluginInfo) -> types::PluginInfo {
    let options = match &plugin.options {
        Value::Null => "{}".to_owned(),
        options => options.to_string(),
    };
    types::PluginInfo {
        name: plugin.name.clone(),
        driver: plugin.driver.clone(),
        format: plugin.format.clone(),
        expected_results: plugin.expected_results,
        options,
    }
}

fn node(node: &Node) -> wit::Node {
    let taint = |taint: &plumbline_core::Taint| wit::Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
    };
    wit::Node {
        name: node.name.to_string(),
        labels: node.labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        taints: node.taints.iter().map(taint).collect(),
        ready: node.ready,
        unschedulable: node.unschedulable,
        os: node.os.clone(),
        arch: node.arch.clone(),
    }
}

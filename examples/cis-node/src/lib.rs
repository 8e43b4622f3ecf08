//! A check of a node: settings of the kubelet, and of the control plane if it runs as static pods,
//! with the owners and modes of their files.
//!
//! Each file is an item, and each rule an item below it.
//!
//! | status | when |
//! |---|---|
//! | passed | the setting, the owner or the mode of the file is as the rule wants it |
//! | failed | it is different, or the setting is missing |
//! | skipped | the node has no such file, so it does not run this component as a static pod |
//! | unknown | the file cannot be read, or the setting is in another file or in a variable |
//!
//! A node without a readable configuration of the kubelet is `unknown`, because every node has a
//! kubelet.
#![forbid(unsafe_code)]

mod owners;
mod rules;
mod settings;

use plumbline_sdk::context::FileError;
use plumbline_sdk::{Checker, Context, Item, Output, PluginInfo, Status};

use crate::rules::Rule;
use crate::settings::{Settings, has_variable, of_kubelet, of_static_pod};

/// The directory of static pods.
const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The configuration of the kubelet.
const KUBELET: &str = "/var/lib/kubelet/config.yaml";

/// The components that run as static pods.
const STATIC_PODS: [(&str, &[Rule]); 4] = [
    ("kube-apiserver", rules::API_SERVER),
    ("kube-controller-manager", rules::CONTROLLER_MANAGER),
    ("kube-scheduler", rules::SCHEDULER),
    ("etcd", rules::ETCD),
];

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct CisNode;

impl Checker for CisNode {
    fn run(_: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let total = STATIC_PODS.len() as u64 + 1;
        for (done, (component, rules)) in (0..).zip(STATIC_PODS) {
            context.progress(done, total, component);
            let file = format!("{MANIFESTS}/{component}.yaml");
            match context.read_to_string(&file) {
                Ok(text) => report(context, component, &file, of_static_pod(&text, component), rules, out),
                Err(error @ (FileError::NotFound { .. } | FileError::NotGranted { .. })) => {
                    out.emit(Item::new(0, component).status(Status::Skipped).text("skipped", error.to_string()));
                }
                Err(error) => report(context, component, &file, Err(error.to_string()), rules, out),
            }
        }
        context.progress(total - 1, total, "kubelet");
        let settings = context.read_to_string(KUBELET).map_err(|error| error.to_string());
        let settings = settings.and_then(|text| of_kubelet(&text));
        report(context, "kubelet", KUBELET, settings, rules::KUBELET, out);
        Ok(())
    }
}

fn report(
    context: &mut Context,
    component: &str,
    file: &str,
    settings: Result<Settings, String>,
    rules: &[Rule],
    out: &mut Output,
) {
    let root = Item::new(0, component).meta("file", file);
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => return out.emit(root.status(Status::Unknown).meta("error", error)),
    };
    out.emit(root);
    owners::report(context, file, out);
    rules.iter().for_each(|rule| out.emit(judge(rule, &settings)));
}

fn judge(rule: &Rule, settings: &Settings) -> Item {
    let item = Item::new(1, rule.name).meta("setting", rule.setting);
    if let Some(elsewhere) = rule.elsewhere.filter(|name| settings.contains_key(*name)) {
        return item
            .status(Status::Unknown)
            .meta("error", format!("`{elsewhere}` names another file, which is not read"));
    }
    let value = settings.get(rule.setting).map(String::as_str);
    if let Some(value) = value.filter(|value| has_variable(value)) {
        return item.status(Status::Unknown).meta("error", format!("`{value}` has a variable, which is not resolved"));
    }
    match rule.want.problem(value) {
        None => item.status(Status::Passed),
        Some(problem) => item.status(Status::Failed).text("failure", problem),
    }
}

plumbline_sdk::module! {
    name: "cis-node",
    formats: [],
    default_files: [],
    rights: { "files": ["/etc/kubernetes/manifests", "/var/lib/kubelet"] },
    check: CisNode,
}

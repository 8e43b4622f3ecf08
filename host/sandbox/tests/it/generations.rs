//! Tests for modules of all contract generations on the current host.
//!
//! Those of the first generation are built from their own sources (`guests/since-v0.1.0/`) against
//! the frozen contract, without an SDK. The expected output is recorded here and must not change
//! when the host changes.

use std::fmt::Write as _;
use std::io;

use plumbline_core::{FlatItem, ModuleLimits, Node, NodeName, Status, Taint};
use plumbline_sandbox::{
    Entry, Expect, HOST_GENERATION, InputFile, LogLevel, Module, ModuleFailure, PluginInfo, ResultSource, Roles,
    Summarize,
};
use serde_json::json;

use crate::handmade::{component, core};
use crate::support::{call, file, guest_file, sandbox};

fn module(role: &str) -> Module {
    let name = format!("v0-1-0-{role}");
    sandbox().load(&name, &guest_file(&format!("{name}.wasm"))).unwrap()
}

fn plugin() -> PluginInfo {
    PluginInfo {
        name: "smoke".into(),
        driver: "DaemonSet".into(),
        format: "old-lines".into(),
        expected_results: 3,
        options: json!({ "strict": true, "names": ["a", "ü"] }),
    }
}

/// Formats all fields of the items, one line each.
fn shown(items: &[FlatItem]) -> String {
    let mut text = String::new();
    for item in items {
        let FlatItem { depth, name, status, meta, details, .. } = item;
        let status = status.as_ref().map_or_else(|| "-".to_owned(), |status| status.to_string());
        let (meta, details) = (serde_json::to_string(meta).unwrap(), serde_json::to_string(details).unwrap());
        writeln!(text, "{depth} {name}: {status} {meta} {details}").unwrap();
    }
    text
}

fn levels(log: &[(LogLevel, String)]) -> Vec<(&'static str, &str)> {
    log.iter()
        .map(|(level, text)| {
            let level = match level {
                LogLevel::Debug => "debug",
                LogLevel::Info => "info",
                LogLevel::Warning => "warning",
                _ => "error",
            };
            (level, text.as_str())
        })
        .collect()
}

#[test]
fn the_first_generation_says_of_itself_what_it_said() {
    let module = module("post-processor");
    let info = module.info();
    assert_eq!(info.name.as_deref(), Some("v0-1-0-post-processor"));
    assert_eq!(info.generation.as_deref(), Some("0.1.0"));
    assert_eq!(
        (info.formats.clone(), info.default_files.clone()),
        (vec!["old-lines".to_owned()], vec!["**/*.old".to_owned()])
    );
    assert_eq!(info.limits.memory, Some(16 << 20));
    assert_eq!(info.roles, Roles { post_processor: true, ..Roles::default() });
    assert!(info.imports.iter().all(|import| import.starts_with("plumbline:plugin/")), "{:?}", info.imports);
    for (role, roles) in [
        ("expectations", Roles { expectations: true, ..Roles::default() }),
        ("summarizer", Roles { summarizer: true, ..Roles::default() }),
    ] {
        assert_eq!(self::module(role).info().roles, roles, "{role}");
    }
}

#[test]
fn a_post_processor_of_the_first_generation_makes_the_items_that_it_made() {
    let lines = "passed one\nfailed two\nskipped three\ntimeout four\nunknown five\nwarning six\nseven\n";
    let failing = InputFile {
        path: "results/global/b.old".into(),
        size: 9,
        open: Box::new(|| Err(io::Error::other("the disk is gone"))),
    };
    let files = vec![file("results/global/a.old", lines), failing, file("results/global/c.old", "")];
    let called = call(&module("post-processor"), &plugin(), files, &ModuleLimits::default());
    called.result.as_ref().unwrap();
    // The host's own error text is not part of the contract.
    let shown = shown(&called.items).replace("failed to open the file: ", "");
    assert_eq!(
        shown,
        r#"0 smoke: passed {"driver":"DaemonSet","expected-results":"3","format":"old-lines"} {"note":"as text","options":{"names":["a","ü"],"strict":true}}
0 results/global/a.old: - {"file":"results/global/a.old","size":"80"} {}
1 one: passed {} {}
1 two: failed {} {}
1 three: skipped {} {}
1 four: timeout {} {}
1 five: unknown {} {}
1 six: warning {} {}
1 seven: - {} {}
0 results/global/b.old: - {"file":"results/global/b.old","size":"9"} {}
1 unreadable: unknown {"error":"the disk is gone"} {}
0 results/global/c.old: - {"file":"results/global/c.old","size":"0"} {}
"#
    );
    assert_eq!(levels(&called.log), [("debug", "debug"), ("info", "info"), ("warning", "warning"), ("error", "error")]);
}

#[test]
fn a_post_processor_of_the_first_generation_gives_up_as_it_did() {
    let files = vec![file("results/global/a.old", "passed one\ngive-up two\npassed three\n")];
    let called = call(&module("post-processor"), &plugin(), files, &ModuleLimits::default());
    assert!(
        matches!(&called.result, Err(ModuleFailure::Refused(said)) if said == "gave up at two"),
        "{:?}",
        called.result
    );
    let names: Vec<&str> = called.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["smoke", "results/global/a.old", "one"], "what was emitted before stays");
}

fn node(name: &str) -> Node {
    Node {
        name: name.parse().unwrap(),
        labels: [("zone".to_owned(), "z".to_owned())].into(),
        taints: Vec::new(),
        ready: true,
        unschedulable: false,
        os: "linux".into(),
        arch: "amd64".into(),
    }
}

fn expected(pod_spec: Option<serde_json::Value>, nodes: &[Node]) -> Result<Vec<String>, String> {
    let (plugin, limits) = (plugin(), ModuleLimits::default());
    let call = Expect { plugin: &plugin, pod_spec: pod_spec.as_ref(), nodes, limits: &limits };
    let mut log = Vec::new();
    let names = module("expectations").expect(call, &mut log).map(|(names, _)| names);
    assert_eq!(levels(&log), [("info", format!("smoke of {} nodes", nodes.len()).as_str())]);
    match names {
        Ok(names) => Ok(names.iter().map(|name| NodeName::as_str(name).to_owned()).collect()),
        Err(ModuleFailure::Refused(said)) => Err(said),
        Err(other) => Err(format!("not what the module said: {other}")),
    }
}

#[test]
fn an_expectation_of_the_first_generation_names_the_nodes_that_it_named() {
    let taint = Taint { key: "gpu".into(), value: "yes".into(), effect: "NoSchedule".into() };
    let nodes = [
        node("a"),
        Node { ready: false, ..node("b") },
        Node { unschedulable: true, ..node("c") },
        Node { taints: vec![taint], ..node("d") },
        Node { os: "windows".into(), ..node("e") },
        Node { arch: "arm64".into(), ..node("f") },
        node("g"),
    ];
    assert_eq!(expected(None, &nodes).unwrap(), ["a", "g"]);
    assert_eq!(expected(Some(json!({ "nodeSelector": { "arch": "arm64" } })), &nodes).unwrap(), ["f"]);
    assert_eq!(expected(Some(json!({ "hostname": "cluster" })), &nodes).unwrap(), ["global"]);
    assert_eq!(expected(None, &nodes[3..4]).unwrap_err(), r#"no node can answer: d ["zone=z"] ["gpu=yes:NoSchedule"]"#);
}

/// Yields these entries, and then an optional error.
struct Given(std::vec::IntoIter<Entry>, Option<&'static str>);

impl ResultSource for Given {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        match (self.0.next(), self.1) {
            (None, Some(error)) => Err(io::Error::other(error)),
            (entry, _) => Ok(entry),
        }
    }
}

fn summarized(error: Option<&'static str>) -> (Result<(), ModuleFailure>, String) {
    let entry = |set: &str, name: &str, status| Entry {
        set: set.into(),
        item: FlatItem { name: name.into(), status: Some(status), ..FlatItem::default() },
    };
    let entries = vec![
        entry("n1", "a", Status::Passed),
        entry("n1", "b", Status::Custom("warning".into())),
        entry("n1", "c", Status::Passed),
        entry("n2", "a", Status::Failed),
        entry("n2", "b", Status::Skipped),
    ];
    let (plugin, limits) = (plugin(), ModuleLimits::default());
    let (mut items, mut log) = (Vec::new(), Vec::new());
    let results = Box::new(Given(entries.into_iter(), error));
    let call = Summarize { plugin: &plugin, results, limits: &limits };
    let result = module("summarizer").summarize(call, &mut items, &mut log);
    assert_eq!(levels(&log), [("info", "smoke")]);
    (result.map(drop), shown(&items))
}

#[test]
fn a_summarizer_of_the_first_generation_has_the_same_result() {
    let (result, items) = summarized(None);
    result.unwrap();
    assert_eq!(
        items,
        r#"0 n1: passed {"type":"summary"} {"counts":"passed: 2, warning: 1"}
0 n2: failed {"type":"summary"} {"counts":"failed: 1, skipped: 1"}
"#
    );
    let (result, items) = summarized(Some("the disk is gone"));
    assert!(matches!(&result, Err(ModuleFailure::Refused(said)) if said.ends_with("the disk is gone")), "{result:?}");
    assert_eq!(items, "");
}

#[test]
fn a_later_module_of_this_generation_runs_if_it_asks_for_nothing_new() {
    let later = |version: &str, imports: &str, body: &str| {
        let wat = core(imports, "", body).replace("@0.1.0", &format!("@{version}"));
        sandbox().load("later", &component(version, &wat))
    };
    assert_eq!(HOST_GENERATION, "0.1.0", "a test of the module that is newer than the host");
    let module = later("0.1.7", "", "(call $emit_item)").unwrap();
    assert_eq!(module.info().generation.as_deref(), Some("0.1.7"));
    let files = vec![file("results/global/a", "content")];
    let called = call(&module, &plugin(), files, &ModuleLimits::default());
    called.result.as_ref().unwrap();
    assert_eq!(called.items[0].name, "item");
    // A later generation is detected, with a hint.
    let error = later("0.2.0", "", "(call $emit_item)").unwrap_err();
    assert_eq!(error.hint(), Some("update plumbline, or build the module against the older interface"));
}

/// Loads a component for `version` that imports a function of a contract interface and implements a
/// role. Returns the error.
fn asking_for(version: &str, interface: &str, function: &str, role: &str) -> String {
    let wat = format!(
        r#"(component
            (import "plumbline:plugin/{interface}@{version}" (instance (export "{function}" (func))))
            (instance $role) (export "plumbline:plugin/{role}@{version}" (instance $role)))"#
    );
    let error = sandbox().load("later", &wat::parse_str(wat).unwrap()).unwrap_err();
    format!("{error}; {}", error.hint().unwrap_or_default())
}

#[test]
fn an_error_for_a_newer_module_that_needs_more_says_that_the_host_is_older() {
    let newer = "module `later` is newer than this host: it uses `plumbline:plugin@0.1.7`, this host `0.1.0`; update plumbline, or build the module against the older interface";
    // An interface that was added later, as an import or as a role.
    assert_eq!(asking_for("0.1.7", "charts", "draw", "post-processor"), newer);
    assert_eq!(asking_for("0.1.7", "log", "write", "oracle"), newer);
    // A function that was added later.
    let said = asking_for("0.1.7", "log", "flush", "post-processor");
    assert!(said.contains("flush") && said.contains("may need a newer plumbline"), "{said}");
    // With the host's own version, the module is not newer but invalid.
    let said = asking_for("0.1.0", "charts", "draw", "post-processor");
    assert!(
        said.starts_with("module `later` imports interfaces that modules cannot use: plumbline:plugin/charts@0.1.0; "),
        "{said}"
    );
    let said = asking_for("0.1.0", "log", "write", "oracle");
    assert!(said.starts_with("module `later` implements no role: "), "{said}");
}

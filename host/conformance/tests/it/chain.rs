//! Tests of the conversion from options to the chain of a definition.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_conformance::chain::{Baseline, Chain, ChainError, ListFile, MAX_FILE_BYTES};
use plumbline_core::Item;
use plumbline_core::definition::Definition;
use serde_json::{Value, json};

fn definition(chain: Value) -> Definition {
    let document = json!({
        "sonobuoy-config": {"driver": "Job", "plugin-name": "e2e"}, "spec": {"image": "x"},
        "config-map": {"known.yaml": "- its own\n"}, "plumbline": {"verdict": chain},
    });
    Definition::from_json(document).unwrap().definition
}

fn applied(chain: &Chain, before: Value) -> Value {
    let mut definition = definition(before);
    chain.apply(&mut definition).unwrap();
    // The definition can be written and read back unchanged.
    let json = definition.to_json();
    let again = Definition::from_json(json.clone()).unwrap();
    assert_eq!((again.definition, again.warnings), (definition, vec![]));
    json!({"verdict": json["plumbline"]["verdict"], "config-map": json["config-map"]})
}

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path
}

const CHECKS: &str = "- {id: A, healthy: pods, want: '>= 98 %'}\n- id: B\n  log: {files: 'podlogs/kube-system/etcd-*/logs/*.txt', pattern: x, measure: count}\n  want: '== 0'\n";

#[test]
fn everything_at_once_in_an_order_that_works() {
    let dir = tempfile::tempdir().unwrap();
    let list = |name: &str, text: &str| ListFile::read(&write(dir.path(), name, text)).unwrap();
    let root: Item = serde_json::from_value(
        json!({"name": "e2e", "status": "failed", "items": [{"name": "junit_01.xml", "status": "failed", "items": [
            {"name": "[It] [sig-b] b", "status": "timeout"}, {"name": "[sig-a] a", "status": "failed"},
            {"name": "[It] [sig-a] a", "status": "failed"}, {"name": "c", "status": "passed"},
        ]}]}),
    )
    .unwrap();
    let archive = write(dir.path(), "before.tar.gz", "content");
    let chain = Chain {
        known_failures: vec![list("known.yaml", "- a\n"), list("more.yaml", "- b\n")],
        flaky: vec![list("flaky.json", "[\"c\"]")],
        allowed_skips: vec![list("skips.yaml", "- d\n")],
        required: Some(r"\[Conformance\]".to_owned()),
        baseline: Some(Baseline::of_tree(&root, &archive).unwrap()),
        checks: vec![list("checks.yaml", CHECKS)],
    };
    let own = json!([{"judge": "mine"}]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&applied(&chain, own)).unwrap());
}

#[test]
fn nothing_asked_for_changes_nothing() {
    let before = json!([{"judge": "baseline", "options": {"failed": []}}]);
    assert!(Chain::default().is_empty());
    assert_eq!(applied(&Chain::default(), before.clone())["verdict"], before);
}

#[test]
fn checks_of_files_that_no_definition_may_name_are_refused() {
    let check =
        |files: &str| format!("- {{id: A, log: {{files: '{files}', pattern: x, measure: count}}, want: '== 0'}}\n");
    let error_of = |text: String| {
        let mut definition = definition(json!([]));
        let before = definition.clone();
        let chain = Chain { checks: vec![ListFile::new("c.yaml", text)], ..Chain::default() };
        let message = chain.apply(&mut definition).unwrap_err().to_string();
        assert_eq!(definition, before);
        message
    };
    for (files, why) in [("/var/log/x", "must be relative"), ("../x", "must not hold `..`"), ("", "is empty")] {
        let message = error_of(check(files));
        assert!(message.starts_with("failed to pass files to judge `checks`: ") && message.contains(why), "{message}");
    }
    let many: String = (0..65).map(|at| check(&format!("logs/{at}"))).collect();
    assert!(error_of(many).contains("more than 64 entries"));
}

#[test]
fn an_invalid_list_is_rejected_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &[u8]| ListFile::read(&write(dir.path(), name, text)).unwrap_err().to_string();
    assert!(read("a.yaml", b"- [sig-a] b\n").ends_with("; names that begin with `[` must be quoted"));
    assert!(read("b.yaml", b"\xff").contains("it is not UTF-8"));
    assert!(read("c.yaml", &vec![b' '; MAX_FILE_BYTES + 1]).contains("more than 8 MiB"));
    let gone = ListFile::read(&dir.path().join("gone.yaml"));
    assert!(matches!(gone, Err(ChainError::Read { .. })));
    assert!(ListFile::read(&write(dir.path(), "empty.yaml", "# nothing\n")).is_ok());
}

#[test]
fn a_chain_has_an_end() {
    let full = json!(vec![json!({"judge": "mine"}); 16]);
    let chain = Chain { checks: vec![ListFile::new("c.yaml", "[]")], ..Chain::default() };
    let mut definition = definition(full);
    let before = definition.clone();
    let message = chain.apply(&mut definition).unwrap_err().to_string();
    assert_eq!(message, "the chain of plugin `e2e` has 17 judges: the limit is 16");
    assert_eq!(definition, before);
    let many = Chain { flaky: vec![ListFile::new("f.yaml", "[]"); 65], ..Chain::default() };
    assert!(many.apply(&mut definition).unwrap_err().to_string().contains("65 files"));
    let large = ListFile::new("f.yaml", " ".repeat(MAX_FILE_BYTES));
    let large = Chain { flaky: vec![large.clone(), large.clone(), large], ..Chain::default() };
    assert!(large.apply(&mut definition).unwrap_err().to_string().contains("more than 16 MiB together"));
    let long: Vec<Value> =
        (0..50).map(|at| json!({"name": format!("{at}{}", "x".repeat(100_000)), "status": "failed"})).collect();
    let root: Item = serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": long})).unwrap();
    let message = Baseline::of_tree(&root, Path::new("/")).unwrap_err().to_string();
    assert!(message.contains("more than 4 MiB"), "{message}");
    let leaves: Vec<Value> = (0..10_001).map(|at| json!({"name": format!("t{at}"), "status": "failed"})).collect();
    let root: Item = serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": leaves})).unwrap();
    let message = Baseline::of_tree(&root, Path::new("/")).unwrap_err().to_string();
    assert!(message.contains("10001 tests failed"), "{message}");
}

//! Golden cases of checks. The check is the guest of the sandbox's tests, with rights of its own.

use plumbline_author::check::Level;
use plumbline_author::fuzz::{self, FuzzOptions};
use plumbline_author::golden::{self, Bless, CaseResult, Report, Runner};

use crate::bed::{Bed, modules, repository};
use crate::support::{check, lines};

const RIGHTS: &str = r#"{"files": ["/granted", "/missing"], "env": ["GRANTED"], "kubernetes": [{"api-version": "v1", "resources": ["nodes"]}]}"#;
const GRANTS: &str =
    "{files: [/granted, /missing, /proc], env: [GRANTED, PATH], kubernetes: [{api-version: v1, resources: [nodes]}]}";
const NODES: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
]}"#;

/// Creates the plugin `look`, whose check behaves as `behaviour` says.
fn plugin(behaviour: &str) -> Bed {
    let bed = Bed::new("raw", "");
    bed.write(
        "plugin.yaml",
        format!("sonobuoy-config: {{plugin-name: look, driver: DaemonSet}}\nplumbline: {{component: misbehave.wasm, options: {{behaviour: {behaviour}}}, grants: {GRANTS}}}\n"),
    );
    let mut wasm = std::fs::read(repository().join("target/modules/guests/misbehave.wasm")).unwrap();
    let metadata = format!(r#"{{"name": "misbehave", "rights": {RIGHTS}}}"#);
    let name = "plumbline:module";
    let content = [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), metadata.as_bytes()].concat();
    // A custom section, with its size in two bytes of LEB128.
    let size = [u8::try_from(content.len() & 0x7f).unwrap() | 0x80, u8::try_from(content.len() >> 7).unwrap()];
    wasm.extend([&[0][..], &size, &content].concat());
    bed.write("misbehave.wasm", wasm);
    bed
}

/// Returns why the only case is broken.
#[track_caller]
fn broken(report: &Report) -> &str {
    match &report.cases[0].result {
        CaseResult::Broken(reason) => reason,
        _ => panic!("{report:?}"),
    }
}

#[test]
fn a_check_reads_what_its_case_has_and_nothing_of_this_machine() {
    let bed = plugin("behave");
    bed.write("tests/one/files/granted/file", "text");
    bed.write("tests/one/files/outside", "secret");
    bed.write("tests/one/env.yaml", "GRANTED: value\n");
    bed.write("tests/one/objects/nodes.json", NODES);
    let report = bed.run(&[], true).unwrap();
    assert_eq!(report.summary(), "1 blessed", "{report:?}");
    assert_eq!((&report.to_json()[0]["kind"], report.cases[0].memory > 0), (&"check".into(), true));
    // The definition grants `/proc`, but the check does not declare it.
    insta::assert_snapshot!(bed.read("tests/one/expected.yaml"));
    assert_eq!(bed.run(&[], false).unwrap().summary(), "1 passed");

    bed.write("tests/one/files/granted/file", "other");
    let report = bed.run(&[], false).unwrap();
    let CaseResult::Failed(diff) = &report.cases[0].result else { panic!("{report:?}") };
    assert!(diff.to_string().contains("-      outcome: text\n"), "{diff}");

    bed.write("tests/one/env.yaml", "PATH: /bin\n");
    let report = bed.run(&[], true).unwrap();
    assert!(broken(&report).contains("`env.yaml` sets `PATH`, which is not in the rights"), "{report:?}");
    let (modules, limits) = (modules(), plumbline_aggregator::LimitPolicy::default());
    let (project, runner) = (bed.project(), Runner::new(&modules, &limits));
    let cases = golden::find(&project, &[]).unwrap();
    let error = fuzz::run(&project, &cases, &runner, FuzzOptions { inputs: 1, seed: 0 }).unwrap_err();
    assert!(error.what.starts_with("a check reads a node or a cluster"), "{error}");
}

#[test]
fn objects_without_a_recording_are_an_error_and_never_an_empty_list() {
    let bed = plugin("read-objects");
    bed.write("tests/one/env.yaml", "");
    let report = bed.run(&[], true).unwrap();
    assert!(broken(&report).starts_with("the case has no recording of `nodes` (v1)"), "{report:?}");
    assert!(!bed.path("tests/one/expected.yaml").exists());
    // How the check handles the error can be expected.
    assert!(bed.run_with(|runner| runner.bless = Bless::Errors).is_good());
    assert!(bed.read("tests/one/expected.yaml").contains("no recording of `nodes`"));
    assert_eq!(bed.run(&[], false).unwrap().summary(), "1 passed");

    bed.write("tests/one/objects/nodes.yaml", "{apiVersion: v1, kind: NodeList, items: []}\n");
    assert_eq!(bed.run(&[], true).unwrap().summary(), "1 blessed");
    assert!(!bed.read("tests/one/expected.yaml").contains("recording"));

    for (file, text, reason) in [
        ("objects/x.txt", "", "expected a file `*.json` or `*.yaml`"),
        ("time.txt", "yesterday", "time.txt"),
        ("nodes.yaml", "[]", "make two cases of them"),
    ] {
        let broken_bed = plugin("read-objects");
        broken_bed.write("tests/one/env.yaml", "");
        broken_bed.write(&format!("tests/one/{file}"), text);
        // `nodes.yaml` makes it a case of expectations, which has no input of a check.
        let report = broken_bed.run(&[], true).unwrap();
        assert!(!report.is_good() && broken(&report).contains(reason), "{file}: {report:?}");
    }
}

#[test]
fn lint_finds_a_missing_check_another_role_and_wrong_cases() {
    let bed = plugin("read-env");
    bed.write("tests/one/env.yaml", "GRANTED: value\n");
    bed.write("tests/one/expected.yaml", "name: look\n");
    let checked = check(bed.dir.path()).unwrap();
    assert_eq!(checked.count(Level::Error), 0, "{:#?}", lines(&checked));

    bed.write("tests/one/objects/empty.json", r#"{"apiVersion": "v1", "kind": "List", "items": []}"#);
    bed.write("tests/one/tree.yaml", "name: look\n");
    let junit = repository().join("target/modules/junit.wasm");
    std::fs::copy(junit, bed.path("misbehave.wasm")).unwrap();
    let findings = lines(&check(bed.dir.path()).unwrap());
    for part in [
        "error: plugin.yaml: `plumbline.component: misbehave.wasm` is not a check",
        "error: tests/one: the case has `tree.yaml` and the input of a check",
        "an empty list of an unknown kind",
    ] {
        assert!(findings.iter().any(|line| line.contains(part)), "{part}: {findings:#?}");
    }

    std::fs::remove_file(bed.path("misbehave.wasm")).unwrap();
    let findings = lines(&check(bed.dir.path()).unwrap());
    assert!(
        findings.iter().any(|line| line.contains("`plumbline.component: misbehave.wasm` is not a module next to")),
        "{findings:#?}"
    );
    bed.write("plugin.yaml", "sonobuoy-config: {plugin-name: look, driver: Job}\nspec: {name: plugin}\n");
    let findings = lines(&check(bed.dir.path()).unwrap());
    assert!(findings.iter().any(|line| line.contains("the definition has no `plumbline.component`")), "{findings:#?}");
}

#[test]
fn a_check_reaches_the_hosts_that_its_case_recorded() {
    let bed = plugin("reach-hosts");
    let yaml = bed.read("plugin.yaml").replace(
        "grants: {",
        "grants: {http: [\"http://example.com\"], dns: [example.com], tcp: [\"example.com:1\"], ",
    );
    bed.write("plugin.yaml", yaml);
    bed.write(
        "tests/one/network.yaml",
        "requests: [{url: \"http://example.com/\", status: 503}]\nnames: {example.com: not-found}\nconnections: {\"example.com:1\": open}\n",
    );
    assert_eq!(bed.run(&[], true).unwrap().summary(), "1 blessed");
    let expected = bed.read("tests/one/expected.yaml");
    for outcome in ["\"503\"", "`example.com` does not exist", "example.com:1", "`b:2` is not granted"] {
        assert!(expected.contains(outcome), "{outcome}: {expected}");
    }

    // What is not recorded is never taken for an answer.
    bed.write("tests/one/network.yaml", "names: {example.com: [192.0.2.1]}\n");
    let report = bed.run(&[], true).unwrap();
    assert!(
        broken(&report).contains("no recording of the connection to `example.com:1` in `network.yaml`"),
        "{report:?}"
    );
    bed.write("tests/one/network.yaml", "requests: [{url: \"http://example.com/\"}]\n");
    let report = bed.run(&[], true).unwrap();
    assert!(broken(&report).contains("needs either `status` or `failure`"), "{report:?}");
}

#[test]
fn owners_of_files_are_those_of_the_case() {
    let bed = plugin("read-owners");
    bed.write("tests/one/files/granted/file", "text");
    bed.write("tests/one/owners.yaml", "/granted/file: {mode: \"0600\", uid: 7}\n");
    assert_eq!(bed.run(&[], true).unwrap().summary(), "1 blessed");
    assert!(bed.read("tests/one/expected.yaml").contains("600 7"), "{}", bed.read("tests/one/expected.yaml"));
    bed.write("tests/one/owners.yaml", "/granted/file: {mode: rw}\n");
    let report = bed.run(&[], true).unwrap();
    assert!(broken(&report).contains("expected octal digits"), "{report:?}");
}

//! Tests of `check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use plumbline_author::check::Level;

use crate::support::{TALLY, built, check, core, lines, project, write};

#[test]
fn a_built_project_has_no_findings() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    write(dir.path(), &[("tests/a/results/global/x.tally", b""), ("tests/a/expected.yaml", b"name: tally\n")]);
    let checked = check(dir.path()).unwrap();
    assert_eq!(lines(&checked), [""; 0]);
    assert_eq!((checked.modules.len(), checked.modules[0].name.as_str()), (1, "tally"));
    // Also check each file alone.
    assert_eq!(lines(&check(&dir.path().join("tally.wasm")).unwrap()), [""; 0]);
    assert_eq!(lines(&check(&dir.path().join("plugin.yaml")).unwrap()), [""; 0]);
}

#[test]
fn an_unbuilt_or_outdated_project_is_reported() {
    let dir = project(&core(""));
    assert_eq!(lines(&check(dir.path()).unwrap()), ["warning: tally.wasm: the module is not built"]);
    built(dir.path()).unwrap();
    write(dir.path(), &[("src/main.c", b"")]);
    assert_eq!(
        lines(&check(dir.path()).unwrap()),
        ["warning: tally.wasm: `src/main.c` has changed since `tally.wasm` was built"]
    );
}

#[test]
fn names_that_lead_nowhere_are_found_with_what_was_meant() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    let text = TALLY.replace("result-format: tally", "result-format: taly, result-fromat: x")
        + "plumbline: {expectations: daemonst, summarizer: host-fact}\n";
    write(dir.path(), &[("plugin.yaml", text.as_bytes())]);
    let checked = check(dir.path()).unwrap();
    let findings = lines(&checked);
    for part in [
        "warning: plugin.yaml: `sonobuoy-config.result-fromat` is not a known key and is ignored: did you mean `result-format`?",
        "error: plugin.yaml: `result-format: taly` is not a known module",
        "error: plugin.yaml: `plumbline.expectations: daemonst` is not a known module",
        "error: plugin.yaml: `plumbline.summarizer: host-fact` is not a known module",
        "warning: tally.wasm: the definition does not use this module",
    ] {
        assert!(findings.iter().any(|line| line.contains(part)), "{part}: {findings:#?}");
    }
    let hint =
        |part: &str| checked.findings.iter().find(|f| f.what.contains(part)).and_then(|f| f.hint.clone()).unwrap();
    assert!(hint("taly").starts_with("did you mean `tally`?"), "{}", hint("taly"));
    assert!(hint("daemonst").starts_with("did you mean `daemonset`?"));
    write(dir.path(), &[("plugin.yaml", (TALLY.to_owned() + "plumbline: {optoins: {}}\n").as_bytes())]);
    let findings = lines(&check(dir.path()).unwrap());
    let wrong = "error: plugin.yaml: `plumbline.optoins` is not a known key: did you mean `options`?";
    assert!(findings.iter().any(|line| line.contains(wrong)), "{findings:#?}");
}

#[test]
fn a_command_that_is_not_there_or_cannot_be_executed_is_found() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    fs::set_permissions(dir.path().join("check.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(lines(&check(dir.path()).unwrap())[0].contains("`./check.sh`, which is not executable"));
    fs::remove_file(dir.path().join("check.sh")).unwrap();
    assert!(lines(&check(dir.path()).unwrap())[0].starts_with("error: plugin.yaml: `spec.command` names `./check.sh`"));
}

#[test]
fn modules_that_a_host_refuses_are_errors_and_hide_nothing() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    let other = r#"(component (component $c) (instance $i (instantiate $c)) (export "plumbline:plugin/post-processor@0.9.0" (instance $i)))"#;
    let files: [(&str, &[u8]); 3] =
        [("a.wasm", b"rubbish"), ("b.wasm", &core("")), ("c.wasm", &wat::parse_str(other).unwrap())];
    write(dir.path(), &files);
    let checked = check(dir.path()).unwrap();
    let findings = lines(&checked);
    assert_eq!(checked.count(Level::Error), 3, "{findings:#?}");
    assert!(findings[0].contains("error: a.wasm: failed to read module `a`: it is not WebAssembly"));
    assert!(findings[1].contains("it is a core WebAssembly module"));
    assert!(findings[2].contains("newer than this host"));
    assert_eq!(checked.modules.len(), 1, "the good one is still looked at");
}

#[test]
fn two_that_answer_to_one_name_and_one_that_hides_a_built_in_module_are_found() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    fs::copy(dir.path().join("tally.wasm"), dir.path().join("junit.wasm")).unwrap();
    let findings = lines(&check(dir.path()).unwrap());
    for part in [
        "warning: junit.wasm: its name is `tally`, but its file is `junit`",
        "error: tally.wasm: `tally` is also a post-processor in `junit.wasm`",
        "warning: junit.wasm: `junit` replaces the built-in module of this name",
    ] {
        assert!(findings.iter().any(|line| line.contains(part)), "{part}: {findings:#?}");
    }
}

#[test]
fn options_are_held_against_the_modules_schema() {
    let dir = project(&core(""));
    let manifest = fs::read_to_string(dir.path().join("module.yaml")).unwrap() + "schema: tally.schema.json\n";
    let schema = br#"{"type": "object", "additionalProperties": false, "properties": {"strict": {"type": "boolean"}}}"#;
    write(dir.path(), &[("module.yaml", manifest.as_bytes()), ("tally.schema.json", schema)]);
    built(dir.path()).unwrap();
    let with = |options: &str| {
        write(dir.path(), &[("plugin.yaml", format!("{TALLY}plumbline: {{options: {options}}}\n").as_bytes())]);
        lines(&check(dir.path()).unwrap())
    };
    assert_eq!(with("{strict: true}"), [""; 0]);
    assert_eq!(with("{strict: 1}").len(), 1);
    let findings = with("{strcit: true}");
    assert!(findings[0].contains("`plumbline.options.strcit`: is not an option (options: strict)"), "{findings:?}");
    // With an invalid schema, the options cannot be checked.
    write(dir.path(), &[("tally.schema.json", br#"{"$ref": "https://example.org/s.json"}"#)]);
    built(dir.path()).unwrap();
    let findings = with("{strcit: true}");
    assert!(findings[0].starts_with("warning: tally.wasm: options of module `tally` are not checked"), "{findings:?}");
}

#[test]
fn limits_over_the_cap_are_found() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    write(dir.path(), &[("plugin.yaml", format!("{TALLY}plumbline: {{limits: {{memory: 900GiB}}}}\n").as_bytes())]);
    let findings = lines(&check(dir.path()).unwrap());
    assert!(
        findings[0].starts_with("error: plugin.yaml: limit `memory` is 900 GiB, but the maximum is"),
        "{findings:?}"
    );
}

#[test]
fn cases_without_input_or_expected_result_are_found() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    let files: [(&str, &[u8]); 5] = [
        ("tests/judged/tree.yaml", b"name: tally\n"),
        ("tests/loose/results/x.tally", b""),
        ("tests/empty/expected.yaml", b""),
        ("tests/native/helper.py", b""),
        ("tests/new/nodes.yaml", b"[]"),
    ];
    write(dir.path(), &files);
    let findings = lines(&check(dir.path()).unwrap());
    assert_eq!(findings.len(), 5, "{findings:#?}");
    assert!(findings[0].contains("error: tests/empty: the case has nothing to read"));
    assert!(findings[1].contains("warning: tests/judged: the case has no expected result"));
    assert!(findings[2].contains("warning: tests/loose: the case has no expected result"));
    assert!(findings[3].contains("error: tests/loose: `results/x.tally` is not read"));
    assert!(findings[4].contains("warning: tests/new: the case has no expected result"));
}

#[test]
fn broken_documents_are_findings_and_nothing_at_all_is_an_error() {
    let dir = project(&core(""));
    write(dir.path(), &[("plugin.yaml", b"{"), ("module.yaml", b"nmae: x\n")]);
    let findings = lines(&check(dir.path()).unwrap());
    assert!(
        findings[0].contains("error: module.yaml: `nmae` is not a known key: did you mean `name`?"),
        "{findings:?}"
    );
    assert!(findings[1].contains("error: plugin.yaml: definition is not valid YAML"), "{findings:?}");
    let empty = tempfile::tempdir().unwrap();
    assert!(check(empty.path()).unwrap_err().what.contains("nothing to check"));
    assert!(check(&empty.path().join("none")).unwrap_err().what.contains("not found"));
    write(empty.path(), &[("x.txt", b"")]);
    assert!(
        check(&empty.path().join("x.txt")).unwrap_err().what.contains("neither a definition nor a module nor a bundle")
    );
}

#[test]
fn files_that_cannot_be_packed_are_found_and_a_packed_bundle_is_checked() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    let bundle = plumbline_bundle::Bundle::open(dir.path()).unwrap();
    let tar = dir.path().join("tally.bundle.tar");
    bundle.pack(fs::File::create(&tar).unwrap()).unwrap();
    let checked = check(&tar).unwrap();
    // A packed bundle has no sources, so it has no findings about them.
    assert_eq!((lines(&checked), checked.modules.len()), (Vec::new(), 1));

    let bytes = fs::read(&tar).unwrap();
    fs::write(&tar, &bytes[..bytes.len() / 2]).unwrap();
    let checked = check(&tar).unwrap();
    assert_eq!(checked.count(Level::Error), 1, "{:#?}", lines(&checked));
    assert_eq!(checked.findings[0].place, "tally.bundle.tar");

    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("LICENSE")).unwrap();
    let findings = lines(&check(dir.path()).unwrap());
    assert!(findings[0].starts_with("error: .: failed to pack the bundle: failed to pack `LICENSE`"), "{findings:?}");
}

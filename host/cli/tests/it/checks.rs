//! Checks as plugins of local runs: a component in place of a process. The guest of the sandbox's
//! tests is the check.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::bed::{Bed, Done, wait_for};

/// Writes the bundle `look`, whose check behaves as `behaviour` says. `own` has further lines of the
/// section `plumbline`.
fn bundle(bed: &Bed, behaviour: &str, own: &str) -> PathBuf {
    let yaml = format!(
        "sonobuoy-config: {{driver: Process, plugin-name: look}}\nplumbline:\n  component: misbehave.wasm\n  options: {{behaviour: {behaviour}}}\n{own}"
    );
    let definition = bed.write("look/plugin.yaml", &yaml);
    let directory = definition.parent().unwrap().to_owned();
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    fs::copy(modules.join("guests/misbehave.wasm"), directory.join("misbehave.wasm")).unwrap();
    directory
}

fn run(bed: &Bed) -> Done {
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", "look"])
}

/// The items of the plugin in the tree, below the file that has them.
fn items(bed: &Bed) -> Vec<Value> {
    fn leaves(item: &Value, found: &mut Vec<Value>) {
        match item["items"].as_array() {
            Some(items) => items.iter().for_each(|item| leaves(item, found)),
            None => found.push(item.clone()),
        }
    }
    let mut found = Vec::new();
    leaves(&bed.tree("look"), &mut found);
    found
}

/// The only failure: an unknown item that says why.
fn reason(bed: &Bed) -> String {
    let items = items(bed);
    let last = items.last().unwrap();
    assert_eq!((&last["name"], &last["status"]), (&"look".into(), &"unknown".into()), "{items:?}");
    last["meta"]["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_check_runs_in_place_of_a_process() {
    let bed = Bed::new();
    bundle(&bed, "progress-flood", "  grants: {files: [/proc, /no/such/directory]}\n");
    let planned = bed.plumbline(&["run", "--local", "--dir", "out", "-p", "look", "--dry-run"]).expect(0);
    let rights = "would run the check `misbehave.wasm`, with these rights: files: /proc; files: /no/such/directory";
    assert!(planned.err.contains(rights), "{}", planned.err);
    run(&bed).expect(0);
    let items = items(&bed);
    assert_eq!((items.len(), &items[0]["name"], &items[0]["status"]), (1, &"done".into(), &"passed".into()));
    let definition: Value = serde_json::from_str(&bed.member("plugins/look/definition.json")).unwrap();
    assert_eq!(definition["Definition"]["plumbline"]["component"], "misbehave.wasm");
    assert_eq!(definition["Definition"]["plumbline"]["grants"]["files"][0], "/proc");
    let modules: Value = serde_json::from_str(&bed.member("meta/modules.json")).unwrap();
    let check = &modules["plugins"][0]["modules"][0];
    assert_eq!((&check["role"], &check["file"]), (&"check".into(), &"misbehave.wasm".into()));
    let log = bed.member("podlogs/local/look/logs/global.txt");
    assert!(log.contains("does not see the directory `/no/such/directory`"), "{log}");
}

#[test]
fn the_second_run_compiles_nothing() {
    let bed = Bed::new();
    bundle(&bed, "progress-flood", "");
    for origin in ["compiled here", "compiled before, from the cache"] {
        run(&bed).expect(0);
        let log = bed.member("podlogs/local/look/logs/global.txt");
        assert!(log.contains(origin), "{log}");
        fs::remove_dir_all(bed.path("out")).unwrap();
    }
}

#[test]
fn only_granted_variables_are_seen() {
    let bed = Bed::new();
    bundle(&bed, "read-env", "  grants: {env: [GRANTED, HOME]}\n");
    run(&bed);
    let seen: Vec<(String, bool)> = items(&bed)
        .iter()
        .map(|item| (item["name"].as_str().unwrap().to_owned(), item["meta"]["outcome"] != "not set"))
        .collect();
    let expected = [("GRANTED", false), ("PATH", false), ("HOME", true)];
    assert_eq!(seen, expected.map(|(name, seen)| (name.to_owned(), seen)));
}

#[test]
fn the_error_of_a_check_is_an_unknown_item() {
    let bed = Bed::new();
    // The check needs objects, and no cluster is granted.
    bundle(&bed, "object-flood", "");
    assert_ne!(run(&bed).code, 0);
    assert!(!reason(&bed).is_empty());
}

#[test]
fn a_check_that_exceeds_its_time_is_ended_and_not_green() {
    let bed = Bed::new();
    bundle(&bed, "list-endless", "  limits: {wall: 1s}\n");
    assert_ne!(run(&bed).code, 0);
    // Whether the sandbox or the process ends it depends on the time to load it.
    assert!(reason(&bed).contains("limit"), "{}", reason(&bed));
    assert!(!bed.members().iter().any(|member| member.contains("/errors/")));
}

#[test]
fn a_check_that_emits_nothing_is_not_green() {
    let bed = Bed::new();
    bundle(&bed, "silence", "");
    assert_ne!(run(&bed).code, 0);
    assert_eq!(reason(&bed), "the check emitted no item");
}

/// Adds a section with metadata to a component: its size and that of its name in LEB128.
fn with_metadata(wasm: &mut Vec<u8>, metadata: &str) {
    fn leb(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 0x7f {
            bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    }
    let name = "plumbline:module";
    let content = [&leb(name.len())[..], name.as_bytes(), metadata.as_bytes()].concat();
    wasm.extend([&[0][..], &leb(content.len()), &content].concat());
}

#[test]
fn rights_that_are_missing_stop_a_run_before_it_starts_with_the_lines_to_add() {
    let bed = Bed::new();
    let module = bundle(&bed, "read-env", "  grants: {files: [/etc]}\n").join("misbehave.wasm");
    let mut wasm = fs::read(&module).unwrap();
    let rights =
        r#"{"files": ["/etc/kubernetes", "/proc"], "kubernetes": [{"api-version": "v1", "resources": ["nodes"]}]}"#;
    with_metadata(&mut wasm, &format!(r#"{{"name": "misbehave", "rights": {rights}}}"#));
    fs::write(&module, wasm).unwrap();
    for args in [&["run", "--local", "--dir", "out", "-p", "look"][..], &["plugin", "lint", "look"]] {
        let done = bed.plumbline(args);
        assert_ne!(done.code, 0);
        let text = format!("{}{}", done.out, done.err);
        let lines = "plumbline:\n    grants:\n      files: [\"/proc\"]\n      kubernetes:\n      - {api-version: v1, resources: [nodes]}";
        let plain: Vec<&str> = text.lines().map(str::trim).collect();
        for line in lines.lines() {
            assert!(plain.contains(&line.trim()), "{line}: {text}");
        }
    }
    assert!(bed.archives().is_empty());
}

#[test]
fn a_check_that_is_not_there_stops_a_run_before_it_starts() {
    let bed = Bed::new();
    fs::remove_file(bundle(&bed, "behave", "").join("misbehave.wasm")).unwrap();
    let done = run(&bed).expect(2);
    assert!(done.err.contains("check `misbehave.wasm` not found"), "{}", done.err);
    bundle(&bed, "behave", "");
    // A single file is not a bundle.
    let done = bed.plumbline(&["run", "--local", "--dir", "out", "-p", "look/plugin.yaml"]).expect(2);
    assert!(done.err.contains("pass the directory to `--plugin`"), "{}", done.err);
}

#[test]
fn an_author_runs_a_check_without_a_run_around_it() {
    let bed = Bed::new();
    let component = bundle(&bed, "read-env", "  grants: {env: [HOME]}\n").join("misbehave.wasm");
    // The directory of a plugin: its options and grants.
    let done = bed.plumbline(&["plugin", "run", "look", "-o", "json"]);
    assert!(
        done.err.contains("runs the check `misbehave.wasm` on this machine, with these rights: env: HOME"),
        "{}",
        done.err
    );
    let tree: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &tree["name"]), (5, &"look".into()), "items without a status are unknown: {tree:#}");
    assert!(done.out.contains("not set"));

    // A component alone: the rights that it declares, and options of the command line.
    let file = component.to_str().unwrap();
    let done = bed.plumbline(&["plugin", "run", file, "--option", "behaviour=progress-flood"]).expect(0);
    assert!(done.err.contains("with these rights: none") && done.out.contains("name: done"), "{}", done.out);
    let late =
        bed.plumbline(&["plugin", "run", file, "--option", "behaviour=list-endless", "--timeout", "1s"]).expect(5);
    assert!(late.out.contains("limit"), "{}", late.out);

    bundle(&bed, "read-objects", "  grants: {kubernetes: [{api-version: v1, resources: [nodes]}]}\n");
    let refused = bed.plumbline(&["plugin", "run", "look"]).expect(2);
    assert!(
        refused.err.contains("reads objects of a cluster") && refused.err.contains("`--cluster`"),
        "{}",
        refused.err
    );
    let dev = bed.start("dev", &["plugin", "dev", "look"]);
    wait_for("the notice about the cluster", || {
        fs::read_to_string(bed.path("dev.err")).is_ok_and(|text| text.contains("add `--cluster` to run it"))
    });
    bundle(&bed, "progress-flood", "");
    wait_for("the check of the second round", || {
        fs::read_to_string(bed.path("dev.out")).is_ok_and(|text| text.contains("name: done"))
    });
    dev.signal("INT");
    dev.wait().expect(0);

    bed.write("other/plugin.yaml", "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {name: plugin}\n");
    assert!(bed.plumbline(&["plugin", "run", "other"]).expect(2).err.contains("does not run a check"));
    bed.plumbline(&["plugin", "run", "other/plugin.yaml"]).expect(2);
}

//! `plugin test`, `plugin dev` and `plugin inspect`, from the command line.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bed::{Bed, wait_for};

const GOOD: &str = "<testsuite name='s'><testcase name='a'/></testsuite>";

fn project(bed: &Bed) {
    bed.write(
        "p/plugin.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: p, result-format: junit}\nspec: {name: plugin}\n",
    );
    bed.write("p/tests/one/results/global/junit.xml", GOOD);
}

fn built_in(name: &str) -> PathBuf {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), Into::into);
    modules.join(name)
}

#[test]
fn golden_cases_from_the_first_to_the_diff() {
    let bed = Bed::new();
    bed.plumbline(&["plugin", "test", "p"]).expect(2);
    project(&bed);
    let missing = bed.plumbline(&["plugin", "test", "p"]).expect(1);
    assert!(missing.out.contains("--bless") && missing.out.ends_with("1 missing\n"), "{}", missing.out);
    let blessed = bed.plumbline(&["plugin", "test", "p", "--bless"]).expect(0);
    assert!(blessed.out.contains("`expected.yaml` is new"), "{}", blessed.out);
    // `--bless` writes what `plugin postprocess` prints.
    let printed = bed.plumbline(&["plugin", "process", "p/tests/one", "--definition", "p"]).expect(0).out;
    assert_eq!(std::fs::read_to_string(bed.path("p/tests/one/expected.yaml")).unwrap(), printed);
    let passed = bed.plumbline(&["plugin", "test", "p", "one"]).expect(0);
    assert!(passed.out.starts_with("passed   one") && passed.out.ends_with("1 passed\n"), "{}", passed.out);

    bed.write("p/tests/one/results/global/junit.xml", &GOOD.replace("'a'", "'z'"));
    let failed = bed.plumbline(&["plugin", "test", "p"]).expect(1);
    assert!(failed.out.contains("  -    - name: a\n  +    - name: z\n"), "{}", failed.out);
    let coloured = bed.plumbline(&["plugin", "test", "p", "--color", "always"]).expect(1);
    assert!(coloured.out.contains("\u{1b}[31m-    - name: a"), "{:?}", coloured.out);
    let json: Value =
        serde_json::from_str(&bed.plumbline(&["plugin", "test", "p", "-o", "json"]).expect(1).out).unwrap();
    assert_eq!((&json["passed"], &json["cases"][0]["result"]), (&false.into(), &"failed".into()));
    assert!(json["cases"][0]["memory"].as_u64().unwrap() > 0);
    let unknown = bed.plumbline(&["plugin", "test", "p", "two"]).expect(2);
    assert!(unknown.err.contains("unknown case `two` (cases: one)"), "{}", unknown.err);
}

#[test]
fn damaged_inputs_are_counted() {
    let bed = Bed::new();
    project(&bed);
    let done =
        bed.plumbline(&["plugin", "test", "p", "--bless", "--fuzz", "50", "--seed", "3", "-o", "json"]).expect(0);
    let json: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&json["fuzz"]["inputs"], &json["fuzz"]["seed"]), (&50.into(), &3.into()));
    assert_eq!(json["fuzz"]["findings"], Value::Array(Vec::new()));
    bed.plumbline(&["plugin", "test", "p", "--seed", "3"]).expect(2);
}

#[test]
fn dev_tries_every_change_until_it_is_interrupted() {
    let bed = Bed::new();
    project(&bed);
    let dev = bed.start("dev", &["plugin", "dev", "p"]);
    let out = || std::fs::read_to_string(bed.path("dev.out")).unwrap();
    wait_for("the first round", || out().contains("1 missing"));
    bed.write("p/tests/one/expected.yaml", "name: other\n");
    wait_for("the second round", || out().contains("round 2: tests/one/expected.yaml") && out().contains("1 failed"));
    dev.signal("INT");
    let done = dev.wait().expect(0);
    assert!(done.err.contains("press Ctrl-C to stop"), "{}", done.err);
    bed.plumbline(&["plugin", "dev", "nowhere"]).expect(2);
}

#[test]
fn a_module_says_what_it_is_without_being_run() {
    let bed = Bed::new();
    let junit = built_in("junit.wasm");
    let junit = junit.to_str().unwrap();
    let shown = bed.plumbline(&["plugin", "inspect", junit]).expect(0).out;
    for part in ["module junit.wasm", "post-processor", "sha256:", "plumbline:plugin@0.1.0", "**/*.[xX][mM][lL]"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("  may          read the files of a result\n               emit items\n"), "{shown}");
    assert!(shown.contains(" interfaces (`--verbose` lists them)\n") && !shown.contains("plugin/input"), "{shown}");
    let verbose = bed.plumbline(&["plugin", "inspect", junit, "--verbose"]).expect(0).out;
    assert!(
        verbose.contains("  imports      plumbline:plugin/") && verbose.contains("plugin/input@0.1.0\n"),
        "{verbose}"
    );
    let json: Value =
        serde_json::from_str(&bed.plumbline(&["plugin", "inspect", junit, "-o", "json"]).expect(0).out).unwrap();
    assert_eq!((&json["kind"], &json["metadata"]["name"]), (&"component".into(), &"junit".into()));

    project(&bed);
    std::fs::copy(junit, bed.path("p/junit.wasm")).unwrap();
    let bundle: Value =
        serde_json::from_str(&bed.plumbline(&["plugin", "inspect", "p", "-o", "json"]).expect(0).out).unwrap();
    assert_eq!((&bundle["definition"]["name"], &bundle["modules"][0]["digest"]), (&"p".into(), &json["digest"]));
    assert!(bed.plumbline(&["plugin", "inspect", "p"]).expect(0).out.contains("plugin p\n"));

    bed.write("x.wasm", "no module");
    assert!(bed.plumbline(&["plugin", "inspect", "x.wasm"]).expect(2).err.contains("it is not WebAssembly"));
    bed.plumbline(&["plugin", "inspect", "nobody"]).expect(2);
    assert!(
        bed.plumbline(&["plugin", "inspect", "oci://example.org/Bad"])
            .expect(2)
            .err
            .contains("invalid reference to a registry")
    );
}

#[test]
fn a_case_of_judges_says_what_a_run_says() {
    let bed = Bed::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/verdict");
    bed.plumbline(&["run", "--local", "-p", example, "-o", "json"]).expect(0);
    let mut left = std::fs::read_dir(bed.root()).unwrap().map(|entry| entry.unwrap().path());
    let archive = left.find(|path| path.extension().is_some_and(|end| end == "gz")).unwrap();
    let trees = bed.plumbline(&["results", archive.to_str().unwrap(), "-o", "json"]).expect(0).out;
    let mut tree: Value = serde_json::from_str::<Value>(&trees).unwrap()[0].take();
    tree.as_object_mut().unwrap().remove("run").unwrap();
    tree.as_object_mut().unwrap().remove("slowest");
    let mut verdict = tree.as_object_mut().unwrap().remove("verdict").unwrap();
    for judge in verdict["chain"].as_array_mut().unwrap() {
        assert!(judge.as_object_mut().unwrap().remove("digest").is_some());
    }

    bed.write("p/plugin.yaml", &std::fs::read_to_string(format!("{example}/plugin.yaml")).unwrap());
    bed.write("p/tests/run/tree.yaml", &tree.to_string());
    let log = std::fs::read_to_string(format!(
        "{example}/tests/as-it-runs/archive/plugins/storage-check/results/global/io.log"
    ));
    bed.write("p/tests/run/archive/plugins/storage-check/results/global/io.log", &log.unwrap());
    // JSON is valid YAML.
    bed.write("p/tests/run/expected.yaml", &verdict.to_string());
    let passed = bed.plumbline(&["plugin", "test", "p"]).expect(0);
    assert!(passed.out.starts_with("passed   run"), "{}", passed.out);

    // The test no longer has the name of a known failure.
    bed.write("p/tests/run/tree.yaml", &tree.to_string().replace("snapshots should be taken", "clones should be made"));
    let failed = bed.plumbline(&["plugin", "test", "p"]).expect(1);
    assert!(
        failed.out.contains("  +status: failed\n") && failed.out.contains("  +  class: failure\n"),
        "{}",
        failed.out
    );
    let json: Value =
        serde_json::from_str(&bed.plumbline(&["plugin", "test", "p", "-o", "json"]).expect(1).out).unwrap();
    assert_eq!((&json["cases"][0]["kind"], &json["cases"][0]["result"]), (&"judgement".into(), &"failed".into()));
}

//! Failures by cause: in reports, as data, and in lists of known failures.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use plumbline_core::Digest;
use serde_json::Value;

use crate::bed::Bed;

const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

/// A report with 7 failures of one cause, and one of another. `run` is what varies in each run.
fn report(run: u32) -> String {
    let mut cases = String::new();
    for n in 0..7 {
        let text = format!("write /var/lib/pods/{run}{n}/log: no space left on device");
        write!(cases, "<testcase name='[It] disk {n}'><failure>/src/a_test.go:{run}\n{text}</failure></testcase>")
            .unwrap();
    }
    format!(
        "<testsuite name='s'><testcase name='fine'/>{cases}<testcase name='net'><failure>pod web-{run}x7 is not reachable through its service</failure></testcase></testsuite>"
    )
}

fn causes(bed: &Bed, args: &[&str]) -> Value {
    let args = [&["results", "-o", "json"], args].concat();
    let trees: Value = serde_json::from_str(&bed.plumbline(&args).expect(1).out).unwrap();
    trees[0]["causes"].clone()
}

#[test]
fn many_failures_are_shown_by_cause() {
    let bed = Bed::new();
    bed.write("first.xml", &report(4711));
    let text = bed.plumbline(&["results", "first.xml"]).expect(1).out;
    insta::assert_snapshot!("report", text);
    let markdown = bed.plumbline(&["results", "first.xml", "-o", "markdown"]).expect(1).out;
    insta::assert_snapshot!("markdown", markdown);
    let first = causes(&bed, &["first.xml"]);
    assert_eq!((&first[0]["count"], &first[1]["count"]), (&7.into(), &1.into()), "{first:#}");
    assert_eq!(first[0]["template"], "write <*>: no space left on device");
    assert_eq!(first[0]["tests"][6], serde_json::json!({"name": "[It] disk 6", "suites": ["s"]}));
    // Another run of which one cause is left.
    let second = report(815);
    let (start, end) =
        (second.find("<testcase name='[It] disk 0'").unwrap(), second.find("<testcase name='[It] disk 6'").unwrap());
    bed.write("second.xml", &(second[..start].to_owned() + &second[end..]));
    let second = causes(&bed, &["second.xml"]);
    let ids = |causes: &Value| [0, 1].map(|at| causes[at]["id"].as_str().unwrap().to_owned());
    let (mut before, mut after) = (ids(&first), ids(&second));
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!(before, after);
}

#[test]
fn a_handful_of_failures_is_listed_by_name_only() {
    let bed = Bed::new();
    let text = bed.plumbline(&["results", REAL, "-p", "e2e"]).expect(1).out;
    assert!(!text.contains("cause"), "{text}");
    let found = causes(&bed, &[REAL, "-p", "e2e"]);
    let counts: Vec<&Value> = found.as_array().unwrap().iter().map(|cause| &cause["count"]).collect();
    assert_eq!(counts, [2, 1, 1], "{found:#}");
    assert!(found[0]["template"].as_str().unwrap().starts_with("We need at least two pods"), "{found:#}");
}

#[test]
fn a_known_cause_excuses_its_failures_in_the_next_run() {
    let bed = Bed::new();
    bed.write("first.xml", &report(4711));
    let found = causes(&bed, &["first.xml"]);
    let id = found[0]["id"].as_str().unwrap();
    bed.write("known.yaml", &format!("- {{cause: {id}, reason: the disks are small}}\n"));
    bed.write("report.xml", &report(815));
    let script = format!(
        "cp {}/report.xml $SONOBUOY_RESULTS_DIR/\nprintf %s $SONOBUOY_RESULTS_DIR/report.xml > $SONOBUOY_RESULTS_DIR/done",
        bed.root().display()
    );
    bed.plugin("suite", "result-format: junit", &script);
    let run = bed.run(&["suite"], &["--known-failures", "known.yaml"]).expect(1);
    assert!(
        run.out.contains("known-failure       7   no") && run.out.contains("failure             1   yes"),
        "{}",
        run.out
    );
    // Judged later, the archive gets the same verdict.
    let archive = bed.archive();
    let trees = bed.plumbline(&["results", &archive, "-o", "json", "--flaky", "known.yaml"]).expect(1).out;
    let trees: Value = serde_json::from_str(&trees).unwrap();
    assert_eq!(trees[0]["verdict"]["classes"]["known-failure"]["items"], 7, "{:#}", trees[0]["verdict"]);
    let modules: Value = serde_json::from_str(&bed.member("meta/modules.json")).unwrap();
    let names: Vec<&Value> =
        modules["plugins"][0]["modules"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.contains(&&Value::from("causes")), "{names:?}");
}

/// Copies the component of a guest to `to`.
fn guest(bed: &Bed, name: &str, to: &str) {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/modules")), PathBuf::from);
    fs::copy(modules.join(format!("guests/{name}.wasm")), bed.path(to)).unwrap();
}

/// Modules of the bundle come first, so each of these replaces the built-in one: one emits items
/// without causes, and one has a single cause for all failures.
#[test]
fn a_bundle_can_have_its_own_module_for_causes() {
    let bed = Bed::new();
    let definition = "sonobuoy-config: {driver: Job, plugin-name: x, result-format: junit}\nspec: {name: plugin}\n";
    for dir in ["plain", "bundle", "own"] {
        bed.write(&format!("{dir}/plugin.yaml"), definition);
    }
    guest(&bed, "v0-1-0-summarizer", "bundle/causes.wasm");
    guest(&bed, "misbehave", "own/causes.wasm");
    bed.write("run/plugins/suite/results/global/junit.xml", &report(1));
    bed.write("run/meta/info.json", r#"{"plugins": ["suite"]}"#);
    let with = |definition: &str| causes(&bed, &["run", "-p", "suite", "--reprocess", "--definition", definition]);
    assert_eq!(with("plain/plugin.yaml")[0]["count"], 7);
    assert_eq!(with("bundle/plugin.yaml"), Value::Null);
    let own = with("own/plugin.yaml");
    assert_eq!(
        (own.as_array().unwrap().len(), &own[0]["id"], &own[0]["count"]),
        (1, &"own-1".into(), &8.into()),
        "{own:#}"
    );
    assert_eq!(
        (&own[0]["template"], &own[0]["tests"][7]["name"]),
        (&"the same for all".into(), &"net".into()),
        "{own:#}"
    );
}

#[test]
fn a_known_cause_of_an_own_module_excuses_its_failures() {
    let bed = Bed::new();
    bed.write("report.xml", &report(815));
    let script = format!("cp {}/report.xml $SONOBUOY_RESULTS_DIR/", bed.root().display());
    bed.plugin("suite", "result-format: junit", &script);
    fs::create_dir(bed.path("bundle")).unwrap();
    fs::rename(bed.path("suite.yaml"), bed.path("bundle/plugin.yaml")).unwrap();
    guest(&bed, "misbehave", "bundle/causes.wasm");
    bed.write("known.yaml", "- {cause: own-1, reason: all of it is known}\n");
    let run = ["run", "--local", "--dir", "out", "-p", "bundle", "--known-failures", "known.yaml"];
    let done = bed.plumbline(&run).expect(0);
    assert!(done.out.contains("known-failure       8   no"), "{}", done.out);
    let modules: Value = serde_json::from_str(&bed.member("meta/modules.json")).unwrap();
    let own = Digest::of_reader(fs::File::open(bed.path("bundle/causes.wasm")).unwrap()).unwrap().to_string();
    let used = modules["plugins"][0]["modules"].as_array().unwrap();
    assert!(used.iter().any(|module| module["digest"] == own.as_str()), "{modules:#}");
}

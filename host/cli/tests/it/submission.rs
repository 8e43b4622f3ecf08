//! `submission assemble` and `submission check`, from the command line.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::image_maker::{Maker, Words};
use crate::registries::{Registry, command};

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

const PRODUCT: &str = "vendor: Example\nname: My Engine\nversion: 1.30\ntype: distribution\ndescription: an engine\nwebsite_url: https://example.org\n\
    documentation_url: https://example.org/docs\ncontact_email_address: k8s@example.org\n";

/// The required tests. In the results, the first name has a prefix, the second has quotes that are
/// escaped twice, and the third has other quotes. The last test is one of a later version.
const REQUIRED: &str = "- {codename: '[sig] a [Conformance]', release: 'v1.9, v1.18'}\n\
    - {codename: '[sig] b => \"it''s\" [Conformance]', release: v1.30}\n\
    - {codename: '[sig] exec \"cat /tmp/health\" [Conformance]', release: '1.25'}\n\
    - {codename: '[sig] later [Conformance]', release: v1.31}\n";

const GOOD: &str = "<testcase name='[It] [sig] a [Conformance]' time='1.5'/>\
    <testcase name='[It] [sig] b =&amp;gt; &amp;#34;it&amp;#39;s&amp;#34; [Conformance]'/>\
    <testcase name=\"[It] [sig] exec 'cat /tmp/health' [Conformance]\"/>\
    <testcase name='[It] [sig] other'><skipped/></testcase>";

const CERTIFIED: &[(&str, &str)] = &[("E2E_FOCUS", r"\[Conformance\]"), ("E2E_SKIP", "")];

/// Writes an archive of the suite with these test cases and environment variables.
fn archive(bed: &Bed, cases: &str, env: &[(&str, &str)]) {
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let definition = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "e2e", "result-format": "junit"},
        "spec": {"name": "e2e", "image": "registry.k8s.io/conformance:v1.30.2", "env": env}});
    bed.write("run/meta/info.json", r#"{"plugins": ["e2e"]}"#);
    bed.write("run/meta/config.json", r#"{"Version": "v0.57.3", "UUID": "r-1"}"#);
    bed.write("run/serverversion.json", r#"{"gitVersion": "v1.30.2-vendor.1"}"#);
    bed.write("run/plugins/e2e/definition.json", &definition.to_string());
    bed.write(
        "run/plugins/e2e/results/global/e2e.log",
        "I0101 e2e test version: v1.30.2\nkube-apiserver version: v1.30.2-vendor.1\n",
    );
    bed.write(
        "run/plugins/e2e/results/global/junit_01.xml",
        &format!("<?xml version=\"1.0\"?>\n<testsuites><testsuite name='Kubernetes e2e suite'>{cases}</testsuite></testsuites>"),
    );
    bed.write("PRODUCT.yaml", PRODUCT);
    bed.write("conformance.yaml", REQUIRED);
}

const ASSEMBLE: &[&str] = &[
    "submission",
    "assemble",
    "--archive",
    "run",
    "--product",
    "PRODUCT.yaml",
    "-d",
    "out",
    "--required",
    "conformance.yaml",
];

/// The rules that fail if the verifier cannot read the results.
const UNREADABLE: [&str; 3] = ["results-readable", "required-tests", "no-failed-tests"];

fn assemble(bed: &Bed, more: &[&str]) -> Done {
    bed.plumbline(&[ASSEMBLE, more].concat())
}

fn check(bed: &Bed, dir: &str, more: &[&str]) -> Done {
    bed.plumbline(&[&["submission", "check", dir, "--required", "conformance.yaml"], more].concat())
}

/// The rules that failed.
fn broken(bed: &Bed, dir: &str) -> Vec<String> {
    let done = check(bed, dir, &["-o", "json"]);
    let document: Value = serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.err));
    let findings = document["findings"].as_array().unwrap();
    let broken: Vec<String> = findings
        .iter()
        .filter(|one| one["outcome"] == "failed")
        .map(|one| one["rule"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(done.code, i32::from(!broken.is_empty()));
    broken
}

#[test]
fn from_an_archive_to_a_checked_folder_in_two_commands() {
    let bed = Bed::new();
    archive(&bed, GOOD, CERTIFIED);
    let done = assemble(&bed, &[]).expect(0);
    insta::assert_snapshot!("assembled", done.out);
    let folder = bed.path("out/v1.30/my-engine");
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["PRODUCT.yaml", "README.md", "e2e.log", "junit_01.xml"]);
    assert_eq!(fs::read_to_string(folder.join("PRODUCT.yaml")).unwrap(), PRODUCT);
    insta::assert_snapshot!("readme", fs::read_to_string(folder.join("README.md")).unwrap());
    let checked = check(&bed, "out", &[]).expect(0);
    insta::assert_snapshot!("checked", checked.out);
    // The result is the same for every folder that the user may name.
    for dir in ["out/v1.30", "out/v1.30/my-engine", "out/v1.30/my-engine/."] {
        assert_eq!(check(&bed, dir, &[]).expect(0).out, checked.out, "{dir}");
    }
    let again = assemble(&bed, &[]).expect(2);
    assert!(again.err.contains("already exists") && again.err.contains("hint:"), "{}", again.err);
    assert!(assemble(&bed, &["--folder", "../x"]).expect(2).err.contains("`--folder`"));
    assemble(&bed, &["--folder", "second"]).expect(0);
    assert_eq!(broken(&bed, "out"), ["one-product"]);
    assert_eq!(broken(&bed, "out/v1.30/second"), [""; 0]);
}

#[test]
fn failed_or_missing_tests_are_rejected_and_found() {
    let bed = Bed::new();
    let failed = format!("{GOOD}<testcase name='[It] [sig] d [Conformance]'><error>x</error></testcase>");
    archive(&bed, &failed, CERTIFIED);
    let done = assemble(&bed, &[]).expect(1);
    insta::assert_snapshot!("refused", done.err);
    assert!(!bed.path("out").exists());
    assert!(assemble(&bed, &["--anyway"]).expect(0).err.contains("warning: 1 conformance test failed"));
    assert_eq!(broken(&bed, "out"), ["no-failed-tests"]);

    let bed = Bed::new();
    archive(&bed, &GOOD.replace("[sig] a ", "[sig] z "), CERTIFIED);
    let done = assemble(&bed, &[]).expect(1);
    assert!(
        done.err.contains("1 of 3 required tests did not run") && done.err.contains("[sig] a [Conformance]"),
        "{}",
        done.err
    );
    assemble(&bed, &["--anyway"]).expect(0);
    assert_eq!(broken(&bed, "out"), ["required-tests"]);
    let text = check(&bed, "out", &[]).expect(1).out;
    assert!(text.contains("- [sig] a [Conformance]"), "{text}");
    // The verifier ignores suites within suites, and does not read a report whose root is a suite.
    let junit = bed.path("out/v1.30/my-engine/junit_01.xml");
    fs::write(
        &junit,
        format!("<testsuites><testsuite name='a'><testsuite name='b'>{GOOD}</testsuite></testsuite></testsuites>"),
    )
    .unwrap();
    assert_eq!(broken(&bed, "out"), ["required-tests", "human-review"]);
    fs::write(&junit, format!("<testsuite name='a'>{GOOD}</testsuite>")).unwrap();
    assert_eq!(broken(&bed, "out"), UNREADABLE);
    fs::write(&junit, "<testsuites><testsuite name='a'><testcase name='x'>").unwrap();
    assert_eq!(broken(&bed, "out"), UNREADABLE);
    fs::write(&junit, "no report at all").unwrap();
    assert_eq!(broken(&bed, "out"), UNREADABLE);
}

#[test]
fn only_runs_of_the_whole_suite_are_submitted() {
    let bed = Bed::new();
    archive(&bed, GOOD, &[("E2E_FOCUS", r"\[Conformance\]"), ("E2E_SKIP", r"\[Disruptive\]")]);
    let done = assemble(&bed, &[]).expect(2);
    assert!(done.err.contains(r"left out the tests that `\[Disruptive\]` selects"), "{}", done.err);
    assemble(&bed, &["--anyway"]).expect(0);

    let bed = Bed::new();
    // The image treats every value as true.
    for value in ["true", "false"] {
        archive(&bed, GOOD, &[("E2E_DRYRUN", value)]);
        assert!(assemble(&bed, &["--anyway"]).expect(2).err.contains("nothing was tested"), "{value}");
        assert!(!bed.path("out").exists());
    }
    // The report says that it is of a dry run, even if no setting of the run does.
    let dry_run = format!("<properties><property name='DryRun' value='true'/></properties>{GOOD}");
    archive(&bed, &dry_run, CERTIFIED);
    assert!(assemble(&bed, &["--anyway"]).expect(2).err.contains("nothing was tested"));
    assert!(!bed.path("out").exists());

    // A test that failed first is in the report as passed.
    let retried = Bed::new();
    let cases = format!("<properties><property name='FlakeAttempts' value='3'></property></properties>{GOOD}");
    archive(&retried, &cases, CERTIFIED);
    let done = assemble(&retried, &[]).expect(2);
    assert!(done.err.contains("it ran failed tests again") && done.err.contains("each test once"), "{}", done.err);
    assert!(!retried.path("out").exists());
    let done = assemble(&retried, &["--anyway"]).expect(0);
    assert!(done.err.contains("warning: this run cannot be submitted"), "{}", done.err);
    assert_eq!(broken(&retried, "out"), ["human-review"]);
    // A single test has the decorator, and the suite's report has no timeline.
    let retried = Bed::new();
    archive(&retried, GOOD, CERTIFIED);
    let log = "I0101 e2e test version: v1.30.2\n↺ [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [3.210 seconds]\n";
    retried.write("run/plugins/e2e/results/global/e2e.log", log);
    let done = assemble(&retried, &[]).expect(2);
    assert!(done.err.contains("it ran failed tests again"), "{}", done.err);
    assemble(&retried, &["--anyway"]).expect(0);
    assert_eq!(broken(&retried, "out"), ["human-review"]);

    // A real archive, of a run that only repeated failed tests.
    bed.write("list.yaml", "- {codename: 'x [Conformance]', release: v1.9}\n");
    let args = [
        "submission",
        "assemble",
        "--archive",
        FAILURES,
        "--product",
        "PRODUCT.yaml",
        "-d",
        "real",
        "--required",
        "list.yaml",
    ];
    let done = bed.plumbline(&args).expect(2);
    assert!(done.err.contains("it ran the tests that `"), "{}", done.err);
    let done = bed.plumbline(&[&args[..], &["--anyway"]].concat()).expect(0);
    // Reports of that time have another root element, which today's verifier does not read.
    assert!(done.err.contains("the verifier cannot read the results"), "{}", done.err);
    assert!(bed.path("real/v1.21/my-engine/junit_01.xml").is_file());
    assert!(
        fs::read_to_string(bed.path("real/v1.21/my-engine/README.md"))
            .unwrap()
            .contains("| results by | Sonobuoy v0.53.2 |")
    );
}

#[test]
fn files_that_only_plumbline_can_read_are_reported() {
    let bed = Bed::new();
    archive(&bed, GOOD, CERTIFIED);
    assemble(&bed, &[]).expect(0);
    let junit = bed.path("out/v1.30/my-engine/junit_01.xml");
    let good = fs::read_to_string(&junit).unwrap();
    let declared = good.replace("version=\"1.0\"", "version=\"1.0\" encoding=\"ISO-8859-1\"");
    let wide: Vec<u8> = "\u{feff}".encode_utf16().chain(good.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for bytes in [declared.as_bytes(), wide.as_slice()] {
        fs::write(&junit, bytes).unwrap();
        assert_eq!(broken(&bed, "out"), UNREADABLE);
        fs::write(bed.path("run/plugins/e2e/results/global/junit_01.xml"), bytes).unwrap();
        let refused = assemble(&bed, &["--folder", "other"]).expect(2);
        assert!(refused.err.contains("UTF-8"), "{}", refused.err);
    }
    fs::write(&junit, good.replace("version=\"1.0\"", "version=\"1.0\" encoding=\"Utf-8\"")).unwrap();
    assert_eq!(broken(&bed, "out"), [""; 0]);
}

/// Git stores a link as the path of its target, so the verifier gets that path.
#[test]
fn a_link_in_a_folder_is_the_path_of_its_target() {
    let bed = Bed::new();
    archive(&bed, GOOD, CERTIFIED);
    assemble(&bed, &[]).expect(0);
    let folder = bed.path("out/v1.30/my-engine");
    for (name, rules) in [
        ("junit_01.xml", &UNREADABLE[..]),
        ("PRODUCT.yaml", &["required-files", "product-fields", "product-addresses", "product-type"]),
        ("README.md", &[]),
    ] {
        let real = bed.path("elsewhere");
        fs::rename(folder.join(name), &real).unwrap();
        std::os::unix::fs::symlink(&real, folder.join(name)).unwrap();
        assert_eq!(broken(&bed, "out"), rules, "{name}");
        fs::rename(&real, folder.join(name)).unwrap();
    }
    assert_eq!(broken(&bed, "out"), [""; 0]);
}

#[test]
fn a_pipe_in_a_folder_is_not_waited_for() {
    for name in ["PRODUCT.yaml", "e2e.log", "junit_01.xml"] {
        let bed = Bed::new();
        archive(&bed, GOOD, CERTIFIED);
        assemble(&bed, &[]).expect(0);
        let path = bed.path("out/v1.30/my-engine").join(name);
        fs::remove_file(&path).unwrap();
        if !std::process::Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: `mkfifo` not found");
            return;
        }
        assert!(broken(&bed, "out").contains(&"required-files".to_owned()), "{name}");
    }
}

#[test]
fn archives_and_products_that_cannot_be_used_say_why() {
    let bed = Bed::new();
    archive(&bed, GOOD, CERTIFIED);
    assert!(assemble(&bed, &["-p", "other"]).expect(2).err.contains("it has `e2e`"));
    bed.write("PRODUCT.yaml", "name: My Engine\ntype: thing\nwebsite_url: nowhere\n");
    let done = assemble(&bed, &[]).expect(2);
    for part in ["`vendor` is missing", "`type` is `thing`", "`website_url` is not a URL", "--anyway"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    bed.write("PRODUCT.yaml", "- no map\n");
    assemble(&bed, &["--anyway"]).expect(2);
    bed.write("PRODUCT.yaml", PRODUCT);
    fs::remove_file(bed.path("run/plugins/e2e/results/global/e2e.log")).unwrap();
    let done = assemble(&bed, &["--anyway"]).expect(2);
    assert!(done.err.contains("has no file `e2e.log`"), "{}", done.err);
    assert!(!bed.path("out").exists(), "nothing is left");
    check(&bed, "nowhere", &[]).expect(2);
}

#[test]
fn without_a_list_the_required_tests_are_unknown() {
    let bed = Bed::new();
    archive(&bed, GOOD, CERTIFIED);
    bed.write("run/serverversion.json", r#"{"gitVersion": "v1.99.0"}"#);
    let args = ["submission", "assemble", "--archive", "run", "--product", "PRODUCT.yaml", "-d", "out"];
    let done = bed.plumbline(&args).expect(0);
    assert!(done.err.contains("the required tests of v1.99 are unknown"), "{}", done.err);
    fs::write(bed.path("out/v1.99/my-engine/e2e.log"), "no version").unwrap();
    let done = bed.plumbline(&["submission", "check", "out"]).expect(3);
    assert!(done.out.contains("not checked  required-tests"), "{}", done.out);
    bed.plumbline(&["submission", "check", "out", "--exit-code", "compat"]).expect(0);
    let image = bed.plumbline(&["submission", "check", "out", "--required", "image"]).expect(2);
    assert!(image.err.contains("the image with the suite of v1.99 is unknown"), "{}", image.err);
    let nobody =
        bed.plumbline(&["submission", "check", "out", "--required", "image:127.0.0.1:1/conformance:v1.31.0"]).expect(4);
    assert!(nobody.err.contains("failed to read the required tests from image"), "{}", nobody.err);
    bed.write("list.yaml", "a: b");
    let list = bed.plumbline(&["submission", "check", "out", "--required", "list.yaml"]).expect(2);
    assert!(list.err.contains("invalid list of required tests `list.yaml`"), "{}", list.err);
}

#[test]
fn the_suite_itself_says_what_it_requires() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    archive(&bed, GOOD, CERTIFIED);
    assemble(&bed, &[]).expect(0);
    let maker = Maker::new(&bed.path("world"));
    let suite = |required: &str| {
        let program =
            format!("#!/bin/sh\n[ \"$1\" = --list-conformance-tests ] || exit 2\ncat <<'END'\n{required}END\n");
        maker.index(Words::Oci, &[("usr/local/bin/e2e.test", &program)])
    };
    maker.name(&suite(REQUIRED), "registry.k8s.io/conformance:v1.30.2");
    let more = format!("{REQUIRED}- {{codename: '[sig] more [Conformance]', release: v1.30}}\n");
    maker.name(&suite(&more), "registry.k8s.io/conformance:v1.30.3");
    let run = |args: &[&str]| {
        let mut command = command(&bed, args);
        command.env("PLUMBLINE_INSECURE_REGISTRIES", &registry.host).env("NO_PROXY", "127.0.0.1");
        command.env("PLUMBLINE_REGISTRY_MIRRORS", format!("registry.k8s.io={}", registry.host));
        Done::of(command)
    };
    run(&["images", "load", "world", "--to", &registry.host]).expect(0);
    // The version comes from the log.
    let checked = run(&["submission", "check", "out", "--required", "image"]).expect(0);
    assert!(checked.err.contains("registry.k8s.io/conformance:v1.30.2"), "{}", checked.err);
    let image = format!("image:{}/conformance:v1.30.3", registry.host);
    let missing = run(&["submission", "check", "out", "--required", &image]).expect(1);
    assert!(missing.out.contains("[sig] more [Conformance]"), "{}", missing.out);
}

/// Real results of complete runs: one without a failure, and one with a failure.
#[test]
fn real_results_of_the_whole_suite() {
    let Some(data) = std::env::var_os("PLUMBLINE_CONFORMANCE_DATA").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED: PLUMBLINE_CONFORMANCE_DATA names no directory with `v1.30-complete-junit_01.xml` and `v1.30-one-failed-junit_01.xml`"
        );
        return;
    };
    let bed = Bed::new();
    archive(&bed, "", CERTIFIED);
    let run = |name: &str| -> Done {
        let junit = bed.path("run/plugins/e2e/results/global/junit_01.xml");
        fs::remove_file(&junit).unwrap();
        fs::write(&junit, fs::read(Path::new(&data).join(name)).unwrap()).unwrap();
        bed.plumbline(&["submission", "assemble", "--archive", "run", "--product", "PRODUCT.yaml", "-d", "out"])
    };
    let failed = run("v1.30-one-failed-junit_01.xml").expect(1);
    assert!(failed.err.contains("1 conformance test failed"), "{}", failed.err);
    let done = run("v1.30-complete-junit_01.xml").expect(0);
    assert!(done.out.contains("402 ran, 6795 skipped"), "{}", done.out);
    let checked = bed.plumbline(&["submission", "check", "out"]).expect(0);
    assert!(checked.out.contains("all 402 required tests ran without failure"), "{}", checked.out);
}

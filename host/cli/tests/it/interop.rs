//! What others make of our artifacts, attestations, results and telemetry: Allure, cosign, oras, wkg,
//! the Open Policy Agent and the OpenTelemetry Collector. `cargo xtask interop` installs them.

use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

use plumbline_bundle::signing::{RELEASE, TEST_RESULT};
use serde_json::{Value, json};

use crate::attestations::{self, accepted, archive, attest, statement, verify};
use crate::bed::{Bed, wait_for};
use crate::registries::Registry;
use crate::signing::keygen;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/attested-results");

/// The program that `variable` names. `None`, and a message, if it is not there.
fn program(variable: &str) -> Option<OsString> {
    let named = std::env::var_os(variable).filter(|named| !named.is_empty());
    if named.is_none() {
        eprintln!("SKIPPED: {variable} names no program; `cargo xtask interop` installs it");
    }
    named
}

/// Runs the program that `variable` names. `None`, and a message, if it is not there.
fn output(bed: &Bed, variable: &str, args: &[&str]) -> Option<Output> {
    let mut command = Command::new(program(variable)?);
    command.args(args).current_dir(bed.root()).env("HOME", bed.path("home")).env("COSIGN_PASSWORD", "");
    command.env("NO_PROXY", "127.0.0.1");
    Some(command.output().unwrap())
}

/// Cosign, in the version 3. `None`, and a message, if it is not there.
fn cosign(bed: &Bed, args: &[&str]) -> Option<Output> {
    output(bed, "PLUMBLINE_COSIGN", args)
}

#[test]
fn cosign_verifies_our_attestations_and_we_verify_those_of_cosign() {
    let bed = Bed::new();
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    attest(&bed, &archive, "release").expect(0);
    let bundle = format!("{archive}.sigstore.json");
    let args = |key, archive| {
        [
            "verify-blob-attestation",
            "--key",
            key,
            "--bundle",
            &bundle,
            "--type",
            TEST_RESULT,
            "--insecure-ignore-tlog",
            archive,
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let run = |args: &[String]| cosign(&bed, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let Some(output) = run(&args("release.pub", &archive)) else { return };
    accepted(&output);
    // It rejects what we reject.
    keygen(&bed, "stranger");
    assert!(!run(&args("stranger.pub", &archive)).unwrap().status.success());
    bed.write("other.tar.gz", "other");
    assert!(!run(&args("release.pub", "other.tar.gz")).unwrap().status.success());
    let good = fs::read(bed.path(&bundle)).unwrap();
    let signed = statement(&bed, &archive).to_string();
    let changed = signed.replace("PASSED", "WARNED");
    assert_ne!(changed, signed);
    attestations::write(&bed, &archive, changed.into_bytes(), signed.as_bytes(), "release");
    assert!(!run(&args("release.pub", &archive)).unwrap().status.success(), "the statement was changed");
    attestations::forge(&bed, &archive, |statement| {
        for subject in 0..2 {
            statement["subject"][subject]["digest"]["sha256"] = json!("00".repeat(32));
        }
    });
    assert!(!run(&args("release.pub", &archive)).unwrap().status.success(), "the subjects are others");
    fs::write(bed.path(&bundle), good).unwrap();

    // A statement of the same type that cosign has signed, with the same key.
    let predicate = &statement(&bed, &archive)["predicate"];
    bed.write("predicate.json", &predicate.to_string());
    accepted(&cosign(&bed, &["import-key-pair", "--key", "release.key", "--output-key-prefix", "cosign"]).unwrap());
    let args = [
        "attest-blob",
        "--yes",
        "--key",
        "cosign.key",
        "--predicate",
        "predicate.json",
        "--type",
        TEST_RESULT,
        "--bundle",
        "cosign.sigstore.json",
        "--tlog-upload=false",
        "--use-signing-config=false",
        &archive,
    ];
    accepted(&cosign(&bed, &args).unwrap());
    let verified = verify(&bed, &archive, &["--key", "release.pub", "--attestation", "cosign.sigstore.json"]).expect(0);
    assert_eq!(attestations::json(&verified)["result"], "PASSED");

    // The signature of a plugin, with the command of docs/signing.md.
    let tar = crate::signing::packed(&bed, "tap", "hello");
    crate::signing::sign(&bed, &tar, "release").expect(0);
    let bundle = format!("{tar}.sigstore.json");
    let args = [
        "verify-blob-attestation",
        "--key",
        "release.pub",
        "--insecure-ignore-tlog",
        "--bundle",
        &bundle,
        "--type",
        RELEASE,
        &tar,
    ];
    accepted(&cosign(&bed, &args).unwrap());
}

#[test]
fn cosign_verifies_an_archive_in_a_registry() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    attest(&bed, &archive, "release").expect(0);
    let image = format!("{}/team/results:run-1", registry.host);
    registry.plumbline(&bed, &["results", "push", &format!("oci://{image}"), &archive]).expect(0);
    let passed = format!("{EXAMPLE}/passed.rego");
    let args = |key, policy| {
        [
            "verify-attestation",
            "--key",
            key,
            "--type",
            TEST_RESULT,
            "--insecure-ignore-tlog",
            "--allow-http-registry",
            "--policy",
            policy,
            &image,
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let run = |args: &[String]| cosign(&bed, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let Some(output) = run(&args("release.pub", &passed)) else { return };
    accepted(&output);
    keygen(&bed, "stranger");
    assert!(!run(&args("stranger.pub", &passed)).unwrap().status.success());
    // The run was not in a cluster.
    let cluster = format!("{EXAMPLE}/cluster.rego");
    assert!(!run(&args("release.pub", &cluster)).unwrap().status.success());
}

#[test]
fn an_archive_that_cosign_attests_in_a_registry_is_verified_after_it_was_pulled() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    attest(&bed, &archive, "release").expect(0);
    let mut predicate = statement(&bed, &archive)["predicate"].take();
    // Only the attestations of cosign are in the registry.
    fs::remove_file(bed.path(&format!("{archive}.sigstore.json"))).unwrap();
    let name = format!("oci://{}/team/results:run-1", registry.host);
    let pushed =
        attestations::json(&registry.plumbline(&bed, &["results", "push", &name, &archive, "-o", "json"]).expect(0));
    assert_eq!(pushed["attestations"], 0);
    let image = format!("{}/team/results@{}", registry.host, pushed["manifest"].as_str().unwrap());
    let import = ["import-key-pair", "--key", "release.key", "--output-key-prefix", "cosign"];
    let Some(output) = cosign(&bed, &import) else { return };
    accepted(&output);
    let attested = |predicate: &Value| {
        bed.write("predicate.json", &predicate.to_string());
        let sign = ["attest", "--yes", "--key", "cosign.key", "--predicate", "predicate.json", "--type", TEST_RESULT];
        let offline = ["--tlog-upload=false", "--use-signing-config=false", "--allow-http-registry", image.as_str()];
        accepted(&cosign(&bed, &[&sign[..], &offline].concat()).unwrap());
        fs::remove_file(bed.path(&archive)).unwrap();
        registry.plumbline(&bed, &["results", "pull", &name]).expect(0);
    };
    attested(&predicate);
    let verified = attestations::json(&verify(&bed, &archive, &["--key", "release.pub"]).expect(0));
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("PASSED")), "{verified}");
    // The worst result counts, whoever wrote it.
    predicate["result"] = json!("FAILED");
    attested(&predicate);
    let verified = attestations::json(&verify(&bed, &archive, &["--key", "release.pub"]).expect(1));
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("FAILED")), "{verified}");
    assert_eq!(verified["disputed"], true, "{verified}");

    // Cosign signed the manifest, which has the name of the archive.
    fs::rename(bed.path(&archive), bed.path("renamed.tar.gz")).unwrap();
    let file = format!("{archive}.sigstore.json");
    let document = attestations::json(
        &verify(&bed, "renamed.tar.gz", &["--key", "release.pub", "--attestation", &file]).expect(1),
    );
    let reason = document["reasons"][0].as_str().unwrap();
    assert!(reason.contains("signed a statement about another file"), "{reason}");
}

#[test]
fn oras_copies_a_bundle_to_another_registry_with_its_signature() {
    let bed = Bed::new();
    let (Some(here), Some(there)) = (Registry::start(&bed, "here"), Registry::start(&bed, "there")) else { return };
    keygen(&bed, "release");
    keygen(&bed, "stranger");
    let tar = crate::signing::packed(&bed, "tap", "hello");
    crate::signing::sign(&bed, &tar, "release").expect(0);
    let (from, to) = (format!("{}/team/tap:1.2", here.host), format!("{}/mirror/tap:stable", there.host));
    let pushed = here.plumbline(&bed, &["plugin", "push", &tar, &format!("oci://{from}"), "--json"]).expect(0);
    let pushed = attestations::json(&pushed);
    assert_eq!(pushed["signatures"], 1, "{pushed}");
    let copy = ["cp", "--recursive", "--from-plain-http", "--to-plain-http", &from, &to];
    let Some(copied) = output(&bed, "PLUMBLINE_ORAS", &copy) else { return };
    accepted(&copied);

    // What is pulled can only come from the second registry.
    drop(here);
    fs::remove_file(bed.path(&tar)).unwrap();
    fs::remove_file(bed.path(&format!("{tar}.sigstore.json"))).unwrap();
    let pulled = there.plumbline(&bed, &["plugin", "pull", &format!("oci://{to}"), "--json"]).expect(0);
    let pulled = attestations::json(&pulled);
    for key in ["manifest", "digest"] {
        assert_eq!(pulled[key], pushed[key], "{pulled}");
    }
    bed.plumbline(&["plugin", "verify", &tar, "--key", "release.pub"]).expect(0);
    bed.plumbline(&["plugin", "verify", &tar, "--key", "stranger.pub"]).expect(1);
}

#[test]
fn wkg_and_plumbline_pull_the_module_that_the_other_pushed() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), Into::into);
    let module = fs::read(modules.join("raw.wasm")).unwrap();
    fs::write(bed.path("raw.wasm"), &module).unwrap();
    let [ours, theirs] = ["ours", "theirs"].map(|name| format!("{}/team/{name}:1", registry.host));
    registry.plumbline(&bed, &["plugin", "push", "raw.wasm", &format!("oci://{ours}")]).expect(0);
    let wkg = |args: &[&str]| {
        let insecure = ["--insecure", &registry.host];
        output(&bed, "PLUMBLINE_WKG", &[&["oci"][..], args, &insecure].concat())
    };
    let Some(pulled) = wkg(&["pull", &ours, "--output", "pulled.wasm"]) else { return };
    accepted(&pulled);
    assert!(fs::read(bed.path("pulled.wasm")).unwrap() == module, "wkg wrote other bytes than were pushed");

    accepted(&wkg(&["push", &theirs, "raw.wasm"]).unwrap());
    let pulled = registry.plumbline(&bed, &["plugin", "pull", &format!("oci://{theirs}"), "--json"]).expect(0);
    let pulled = attestations::json(&pulled);
    assert_eq!(pulled["kind"], "module", "{pulled}");
    let path = bed.path(pulled["path"].as_str().unwrap());
    assert!(fs::read(path).unwrap() == module, "other bytes than wkg pushed: {pulled}");
}

/// The UID of the cluster in archives of [`crate::history::archive`].
const CLUSTER: &str = "5f3a1c09-0000-4000-8000-000000000000";

/// Evaluates an expression over the rules of the example. `clusters` is rule data for Conforma. `None`,
/// and a message, if the Open Policy Agent is not there.
fn evaluated(bed: &Bed, rules: &str, expression: &str, input: &Value, clusters: &[&str]) -> Option<Value> {
    let program = program("PLUMBLINE_OPA")?;
    bed.write("input.json", &input.to_string());
    bed.write("data.json", &json!({"rule_data__configuration__": {"clusters": clusters}}).to_string());
    let mut command = Command::new(program);
    command.args(["eval", "--format=json", "--data", rules, "--data", "data.json", "--input", "input.json"]);
    let output = command.arg(expression).current_dir(bed.root()).output().unwrap();
    accepted(&output);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(result["result"][0]["expressions"][0]["value"].clone())
}

/// Statements about runs: one that passed, one that failed, both in the same cluster, and one that
/// passed on this machine.
fn statements(bed: &Bed) -> [Value; 3] {
    keygen(bed, "release");
    let passed = crate::history::archive(bed, "runs", 10, "...");
    let failed = crate::history::archive(bed, "runs", 11, ".F.");
    [passed, failed, archive(bed, false)].map(|archive| {
        attest(bed, &archive, "release").expect(0);
        statement(bed, &archive)
    })
}

/// Returns a statement about a run that passed, and that repeated only the failed tests of another run.
fn rerun(passed: &Value) -> Value {
    let mut statement = passed.clone();
    let configuration = statement["predicate"]["configuration"].as_array_mut().unwrap();
    configuration.push(json!({"name": "suite of e2e", "annotations": {"rerun": "true"}}));
    statement
}

#[test]
fn the_rule_for_conforma_admits_only_a_cluster_that_passed() {
    let bed = Bed::new();
    let [passed, failed, elsewhere] = statements(&bed);
    let rerun = rerun(&passed);
    let rules = format!("{EXAMPLE}/conforma.rego");
    let denials = |statements: &[&Value], clusters: &[&str]| {
        let attestations: Vec<Value> = statements.iter().map(|statement| json!({"statement": statement})).collect();
        let input = json!({"attestations": attestations});
        let denied = evaluated(&bed, &rules, "data.test_results.deny", &input, clusters)?;
        let codes = denied.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
        Some(codes.collect::<Vec<_>>())
    };
    let Some(admitted) = denials(&[&passed], &[CLUSTER]) else { return };
    assert_eq!(admitted, [""; 0]);
    let other = ["00000000-0000-4000-8000-000000000000"];
    for (statements, clusters, code) in [
        (&[&failed][..], &[CLUSTER][..], "test_results.passed"),
        (&[], &[CLUSTER], "test_results.attested"),
        (&[&passed, &failed], &[CLUSTER], "test_results.passed"),
        (&[&passed], &other, "test_results.cluster"),
        (&[&elsewhere], &[CLUSTER], "test_results.cluster"),
        (&[&passed, &elsewhere], &[CLUSTER], "test_results.cluster"),
        (&[&rerun], &[CLUSTER], "test_results.rerun"),
    ] {
        assert_eq!(denials(statements, clusters).unwrap(), [code], "{statements:#?}");
    }
    // Without rule data, any cluster that passed is admitted.
    assert_eq!(denials(&[&elsewhere], &[]).unwrap(), [""; 0]);
    let slsa = json!({"predicateType": "https://slsa.dev/provenance/v1", "predicate": {"result": "PASSED"}});
    assert_eq!(denials(&[&slsa], &[CLUSTER]).unwrap(), ["test_results.attested"]);
}

#[test]
fn the_rules_for_cosign_admit_only_a_run_that_passed() {
    let bed = Bed::new();
    let [passed, failed, elsewhere] = statements(&bed);
    let rerun = rerun(&passed);
    let rules = fs::read_to_string(format!("{EXAMPLE}/cluster.rego")).unwrap();
    let own = rules.replace("00000000-0000-4000-8000-000000000000", CLUSTER);
    assert_ne!(own, rules);
    bed.write("own.rego", &own);
    let (passed_rules, other) = (format!("{EXAMPLE}/passed.rego"), format!("{EXAMPLE}/cluster.rego"));
    for (rules, statement, admitted) in [
        (passed_rules.as_str(), &passed, true),
        (&passed_rules, &elsewhere, true),
        (&passed_rules, &failed, false),
        (&passed_rules, &rerun, false),
        ("own.rego", &rerun, false),
        ("own.rego", &passed, true),
        ("own.rego", &failed, false),
        ("own.rego", &elsewhere, false),
        (&other, &passed, false),
        (&passed_rules, &json!({}), false),
        ("own.rego", &json!({}), false),
    ] {
        let Some(found) = evaluated(&bed, rules, "data.signature.allow", statement, &[]) else { return };
        assert_eq!(found, admitted, "{rules}: {statement:#}");
    }
}

/// Needs the OpenTelemetry Collector with the receiver `otlp` and the exporter `debug`.
#[test]
fn the_opentelemetry_collector_reads_what_is_exported() {
    let Some(program) = program("PLUMBLINE_OTELCOL") else { return };
    let bed = Bed::new();
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let config = format!(
        "receivers: {{otlp: {{protocols: {{http: {{endpoint: '{free}'}}}}}}}}\n\
         exporters: {{debug: {{verbosity: detailed}}}}\n\
         service:\n  telemetry: {{metrics: {{level: none}}}}\n  pipelines:\n\
         \x20   traces: {{receivers: [otlp], exporters: [debug]}}\n\
         \x20   metrics: {{receivers: [otlp], exporters: [debug]}}\n"
    );
    let config = bed.write("collector.yaml", &config);
    let mut command = Command::new(program);
    command.arg("--config").arg(config);
    let collector = bed.start_command("collector", command);
    wait_for("the collector", || TcpStream::connect(free).is_ok());
    let report = r#"<testsuite name="s"><testcase name="good" time="1"/><testcase name="bad"><failure message="no"/></testcase></testsuite>"#;
    bed.write("report.xml", report);
    bed.plugin(
        "e2e",
        "result-format: junit",
        "cp report.xml $RESULTS_DIR/x.xml; echo $RESULTS_DIR/x.xml > $RESULTS_DIR/done",
    );
    bed.run(&["e2e"], &["--otlp-endpoint", &format!("http://{free}")]).expect(1);
    for text in [
        "Name           : RUN plumbline",
        "cicd.pipeline.result: Str(failure)",
        "Name           : bad",
        "test.case.result.status: Str(fail)",
        "Name: plumbline_tests",
        "Name: plumbline_upload_duration_seconds",
        "IsMonotonic: true",
        "service.name: Str(plumbline)",
    ] {
        wait_for(text, || collector.err().contains(text));
    }
    assert!(!collector.err().contains("\terror\t"), "{}", collector.err());
}

/// The archive has tests that passed, failed and were skipped, and a file that nobody read.
#[test]
fn allure_counts_every_test_as_we_do() {
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
    let bed = Bed::new();
    bed.plumbline(&["results", archive, "-o", "allure", "--dir", "allure-results"]).expect(1);
    let Some(output) = output(&bed, "PLUMBLINE_ALLURE", &["generate", "allure-results", "-o", "page"]) else { return };
    accepted(&output);
    let counts: Value = serde_json::from_slice(&fs::read(bed.path("page/widgets/statistic.json")).unwrap()).unwrap();
    assert_eq!(counts, json!({"total": 5772, "passed": 21, "failed": 4, "skipped": 5746, "unknown": 1}));
}

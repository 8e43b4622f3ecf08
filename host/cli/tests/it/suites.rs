//! Real suites against real targets: the profiles in `examples/profiles`, whose programs
//! `cargo xtask test` builds with Go.

use std::ffi::OsString;
use std::fs;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::bed::{Bed, Done, wait_for};
use crate::registries::Registry;

/// Returns the program that a variable names, or prints that the test is skipped.
pub(crate) fn program(variable: &str) -> Option<OsString> {
    let named = std::env::var_os(variable).filter(|named| !named.is_empty());
    if named.is_none() {
        eprintln!("SKIPPED: {variable} names no program; `cargo xtask test` builds it with Go");
    }
    named
}

pub(crate) fn profile(name: &str) -> String {
    format!("{}/../../examples/profiles/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a profile on this machine.
pub(crate) fn run(bed: &Bed, name: &str, program: &OsString, more: &[&str]) -> Done {
    let (profile, program) = (profile(name), format!("program={}", program.to_str().unwrap()));
    let args = ["conformance", "run", &profile, "--local", "--dir", "out", "-o", "json", "--set", &program];
    bed.plumbline(&[&args[..], more].concat())
}

/// Returns the names of the tests that have this status.
pub(crate) fn tests(bed: &Bed, plugin: &str, status: &str) -> Vec<String> {
    let tree: Value = serde_saphyr::from_str(&bed.member(&format!("plugins/{plugin}/sonobuoy_results.yaml"))).unwrap();
    let (mut names, mut rest) = (Vec::new(), vec![&tree]);
    while let Some(item) = rest.pop() {
        match item["items"].as_array() {
            Some(items) => rest.extend(items),
            None if item["status"] == status => names.push(item["name"].as_str().unwrap().to_owned()),
            None => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// A storage driver, stopped at the end of a test.
struct Driver {
    child: Child,
    socket: String,
}

impl Driver {
    fn start(bed: &Bed, program: &OsString, fault: &str) -> Self {
        fs::create_dir_all(bed.path("volumes")).unwrap();
        let socket = bed.path("csi.sock");
        let endpoint = format!("unix://{}", socket.display());
        let child = Command::new(program)
            .args(["-endpoint", &endpoint, "-fault", fault, "-dir"])
            .arg(bed.path("volumes"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the driver", || socket.exists());
        Self { child, socket: endpoint }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_storage_driver_conforms() {
    let Some((suite, driver)) = program("PLUMBLINE_CSI_SANITY").zip(program("PLUMBLINE_CSI_DRIVER")) else { return };
    let bed = Bed::new();
    let driver = Driver::start(&bed, &driver, "");
    let endpoint = format!("endpoint={}", driver.socket);
    let done = run(&bed, "csi", &suite, &["--set", &endpoint, "--submission-dir", "sub"]).expect(0);
    assert!(done.err.contains("Container Storage Interface v5.6.0, mode `full`, 4 required tests"), "{}", done.err);
    let passed = tests(&bed, "csi", "passed");
    assert_eq!(passed.len(), 28, "{passed:?}");
    assert!(tests(&bed, "csi", "failed").is_empty());
    assert!(bed.path("sub/junit.xml").exists() && bed.path("sub/csi-sanity.log").exists());
    // Every test that the suite reports is in the list of the profile.
    let listed = bed.plumbline(&["conformance", "tests", &profile("csi")]).expect(0).out;
    assert!(
        passed.iter().all(|name| listed.lines().any(|line| line == name.trim_start_matches("[It] "))),
        "{passed:?}"
    );
}

#[test]
fn a_storage_driver_that_breaks_a_rule_fails_with_the_right_test() {
    let Some((suite, driver)) = program("PLUMBLINE_CSI_SANITY").zip(program("PLUMBLINE_CSI_DRIVER")) else { return };
    let bed = Bed::new();
    let driver = Driver::start(&bed, &driver, "capacity");
    let endpoint = format!("endpoint={}", driver.socket);
    run(&bed, "csi", &suite, &["--set", &endpoint]).expect(1);
    let failed = tests(&bed, "csi", "failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains(
        "CreateVolume should fail when requesting to create a volume with already existing name and different capacity"
    ));
}

#[test]
fn failed_tests_run_again_in_the_same_run_and_in_another() {
    let Some((suite, driver)) = program("PLUMBLINE_CSI_SANITY").zip(program("PLUMBLINE_CSI_DRIVER")) else { return };
    let bed = Bed::new();
    let broken = Driver::start(&bed, &driver, "capacity");
    let endpoint = format!("endpoint={}", broken.socket);
    run(&bed, "csi", &suite, &["--set", &endpoint, "--retry-failed", "1"]).expect(1);
    let failed = tests(&bed, "csi", "failed");
    assert_eq!((failed.len(), &failed), (1, &tests(&bed, "csi-retry-1", "failed")));
    assert!(tests(&bed, "csi-retry-1", "passed").is_empty());
    let verdict: Value = serde_json::from_str(&bed.member("plugins/csi/plumbline_verdict.json")).unwrap();
    assert_eq!(verdict["classes"]["failed-again"]["counting"], 1, "{verdict}");
    let archive = bed.archive();
    drop(broken);
    fs::remove_file(bed.path("csi.sock")).unwrap();
    let _repaired = Driver::start(&bed, &driver, "");
    fs::rename(&archive, bed.path("before.tar.gz")).unwrap();
    let again = ["--set", &endpoint, "--rerun-failed", "before.tar.gz"];
    run(&bed, "csi", &suite, &again).expect(0);
    assert_eq!(tests(&bed, "csi", "passed"), failed);
    // It passed, but it is a part of the suite.
    let archive = bed.archive();
    let csi = profile("csi");
    let submit = ["conformance", "submission", "assemble", "--profile", &csi, "--archive", &archive, "--dir", "sub"];
    let done = bed.plumbline(&submit).expect(2);
    assert!(done.err.contains("it ran only the failed tests of another run"), "{}", done.err);
}

#[test]
fn a_storage_driver_that_is_not_there_and_an_empty_selection_are_never_green() {
    let Some((suite, driver)) = program("PLUMBLINE_CSI_SANITY").zip(program("PLUMBLINE_CSI_DRIVER")) else { return };
    let bed = Bed::new();
    let missing = format!("endpoint=unix://{}", bed.path("none.sock").display());
    run(&bed, "csi", &suite, &["--set", &missing, "--mode", "identity"]).expect(1);
    fs::remove_dir_all(bed.path("out")).unwrap();
    let driver = Driver::start(&bed, &driver, "");
    let endpoint = format!("endpoint={}", driver.socket);
    let nothing = ["--set", &endpoint, "--set", "focus=GetPluginInfo should return no information"];
    let done = run(&bed, "csi", &suite, &nothing).expect(2);
    assert!(done.err.contains("no test selected") && done.err.contains("GetPluginInfo"), "{}", done.err);
    // The driver has no snapshots, so all of these tests are skipped.
    let skipped = ["--set", &endpoint, "--set", "focus=CreateSnapshot"];
    let done = run(&bed, "csi", &suite, &skipped).expect(1);
    assert!(done.out.contains("REQUIRED-001"), "{}", done.out);
    // Without required tests, nothing was judged.
    run(&bed, "csi", &suite, &[&skipped[..], &["--mode", "identity"]].concat()).expect(5);
}

/// The judge of the profile reads the same report with every field, in its own tests.
#[test]
fn reports_of_the_gateway_api_have_the_schema_of_its_project() {
    let suite = format!("{}/suite", profile("gateway-api"));
    let go = |args: &[&str]| -> std::io::Result<Output> {
        let mut command = Command::new("go");
        command.args(args).current_dir(&suite).env("GOFLAGS", "-mod=readonly").env("GOWORK", "off");
        command.env("GOTOOLCHAIN", "local").stdin(Stdio::null()).output()
    };
    for (args, reason) in [
        (&["version"][..], "there is no `go` here"),
        (&["list", "-deps", "-test", "./schema"], "this `go` is too old, or its modules cannot be downloaded"),
    ] {
        if !go(args).is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: reports of the Gateway API have the schema of its project: {reason}");
            return;
        }
    }
    let done = go(&["test", "-p=2", "-count=1", "./schema"]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

/// What Debian's registry does not do.
const KNOWN: &str = "\
- {test: OCI Conformance Test/sha256 blobs/chunked out-of-order/blob-patch-chunked, reason: it accepts chunks in any order}
- {test: OCI Conformance Test/sha256 blobs/chunked out-of-order and put chunk/blob-patch-chunked, reason: it accepts chunks in any order}
- {test: OCI Conformance Test/sha256 blobs/range requests/range 500-0, reason: it answers with another status}
- {test: OCI Conformance Test/sha256 blobs/range requests/range 5000-10000, reason: it answers with another status}
- {test: OCI Conformance Test/invalid-digest-format/manifest-put, reason: it answers with 500}
- {test: OCI Conformance Test/invalid-digest-format/manifest-get, reason: it answers with 500}
";

#[test]
fn a_registry_conforms_apart_from_known_failures() {
    let Some(suite) = program("PLUMBLINE_OCI_CONFORMANCE") else { return };
    let bed = Bed::new();
    let Some(registry) = Registry::start_with(&bed, "storage", &json!({"delete": {"enabled": true}})) else { return };
    bed.write("known.yaml", KNOWN);
    let host = format!("registry={}", registry.host);
    let set = ["--set", &host, "--set", "tls=disabled", "--mode", "core"];
    let done =
        run(&bed, "oci-distribution", &suite, &[&set[..], &["--known-failures", "known.yaml"]].concat()).expect(0);
    assert!(done.err.contains("OCI Distribution Specification 1.1, mode `core`, 9 required tests"), "{}", done.err);
    let failed = tests(&bed, "oci-distribution", "failed");
    assert!(failed.iter().all(|name| KNOWN.contains(name.as_str())) && failed.len() == 6, "{failed:?}");
    assert!(tests(&bed, "oci-distribution", "passed").len() > 150);
    // The suite reports a skipped test in an attribute only.
    assert!(
        tests(&bed, "oci-distribution", "skipped").contains(&"OCI Conformance Test/image/delete/tag-delete".to_owned())
    );
    assert!(bed.member("plugins/oci-distribution/results/global/report.html").contains("<html"));
}

#[test]
fn a_registry_that_rejects_content_fails_with_the_right_tests() {
    let Some(suite) = program("PLUMBLINE_OCI_CONFORMANCE") else { return };
    let bed = Bed::new();
    let read_only = json!({"maintenance": {"readonly": {"enabled": true}}});
    let Some(registry) = Registry::start_with(&bed, "storage", &read_only) else { return };
    bed.write("known.yaml", KNOWN);
    let host = format!("registry={}", registry.host);
    let set = ["--set", &host, "--set", "tls=disabled", "--mode", "core", "--known-failures", "known.yaml"];
    run(&bed, "oci-distribution", &suite, &set).expect(1);
    let failed = tests(&bed, "oci-distribution", "failed");
    for test in ["image/push/manifest-by-tag", "image/push/manifest-by-digest", "sha256 blobs/post+put/blob-post-put"] {
        assert!(failed.contains(&format!("OCI Conformance Test/{test}")), "{test}: {failed:?}");
    }
    assert!(tests(&bed, "oci-distribution", "passed").contains(&"OCI Conformance Test/ping".to_owned()));
}

#[test]
fn a_registry_that_is_not_there_is_never_green() {
    let Some(suite) = program("PLUMBLINE_OCI_CONFORMANCE") else { return };
    let bed = Bed::new();
    let set = ["--set", "registry=127.0.0.1:1", "--set", "tls=disabled"];
    run(&bed, "oci-distribution", &suite, &set).expect(1);
    assert!(tests(&bed, "oci-distribution", "passed").is_empty());
}

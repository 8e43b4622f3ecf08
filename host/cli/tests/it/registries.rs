//! Bundles in a real registry: Debian's `docker-registry`, if `PLUMBLINE_DOCKER_REGISTRY` names its
//! program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use plumbline_bundle::signing::parse_attestations;
use plumbline_registry::Layout;
use serde_json::{Value, json};

use crate::bed::{Bed, Done, wait_for};

/// A registry over plain HTTP, which is stopped when this is dropped.
pub(crate) struct Registry {
    child: Child,
    pub(crate) host: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    /// Starts the registry. If its program is missing, returns `None` and prints that the test is
    /// skipped.
    pub(crate) fn start(bed: &Bed, name: &str) -> Option<Self> {
        Self::start_with(bed, name, &json!({}))
    }

    /// Starts the registry like [`Registry::start`], with more settings of its storage.
    pub(crate) fn start_with(bed: &Bed, name: &str, storage: &Value) -> Option<Self> {
        let Some(program) = std::env::var_os("PLUMBLINE_DOCKER_REGISTRY").filter(|named| !named.is_empty()) else {
            eprintln!("SKIPPED: PLUMBLINE_DOCKER_REGISTRY names no program; `cargo xtask test` gets it from Debian");
            return None;
        };
        // A port that was free a moment ago. The server does not report a port that it chose
        // itself.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let mut config = json!({
            "version": "0.1", "log": {"level": "error"}, "http": {"addr": host, "secret": "of a test"},
            "storage": {"filesystem": {"rootdirectory": bed.path(name)}},
        });
        let more = storage.as_object().cloned().unwrap_or_default();
        config["storage"].as_object_mut().unwrap().extend(more);
        // JSON is valid YAML.
        let config = bed.write(&format!("{name}.yml"), &config.to_string());
        let child = Command::new(program)
            .arg("serve")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the registry", || std::net::TcpStream::connect(&host).is_ok());
        Some(Self { child, host })
    }

    /// Runs the binary with the settings to reach this registry.
    pub(crate) fn plumbline(&self, bed: &Bed, args: &[&str]) -> Done {
        let mut command = command(bed, args);
        command.env("PLUMBLINE_INSECURE_REGISTRIES", &self.host).env("NO_PROXY", "127.0.0.1");
        Done::of(command)
    }
}

/// Returns the binary without the caller's settings for registries.
pub(crate) fn command(bed: &Bed, args: &[&str]) -> Command {
    let mut command = bed.command(args);
    for name in [
        "REGISTRY_AUTH_FILE",
        "DOCKER_CONFIG",
        "XDG_RUNTIME_DIR",
        "PLUMBLINE_REGISTRY_CA",
        "PLUMBLINE_INSECURE_REGISTRIES",
        "PLUMBLINE_REGISTRY_MIRRORS",
    ] {
        command.env_remove(name);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command
}

/// Writes the bundle `sample` to `sample/`. Its process writes a word.
fn sample(bed: &Bed) {
    bed.write(
        "sample/plugin.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: sample, description: A sample}\nspec: {name: plugin, command: [./check.sh]}\n",
    );
    let script = "#!/bin/sh\necho one > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done\n";
    let script = bed.write("sample/check.sh", script);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

#[test]
fn a_bundle_goes_through_a_registry_and_runs_from_there() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    sample(&bed);
    let name = format!("oci://{}/team/sample:1.2", registry.host);
    let pushed = json(&registry.plumbline(&bed, &["plugin", "push", "sample", &name, "--json"]).expect(0));
    let manifest = pushed["manifest"].as_str().unwrap();
    assert_eq!(pushed["reference"], format!("{name}@{manifest}"));

    let exact = format!("oci://{}/team/sample@{manifest}", registry.host);
    let args = ["run", "--local", "--dir", "out", "-p", &exact];
    registry.plumbline(&bed, &args).expect(0);
    assert_eq!(bed.member("plugins/sample/results/global/out"), "one\n");

    let inspected = json(&registry.plumbline(&bed, &["plugin", "inspect", &exact, "-o", "json"]).expect(0));
    assert_eq!(inspected["definition"]["name"], "sample");
    assert_eq!(inspected["digest"], pushed["digest"]);

    let shown = registry.plumbline(&bed, &["plugin", "show", &name, "-o", "json"]).expect(0);
    assert!(shown.err.contains(&format!("`{name}` is {manifest}")), "{}", shown.err);
    assert_eq!(json(&shown)["bundle"]["digest"], pushed["digest"]);

    registry.plumbline(&bed, &["plugin", "install", &name]).expect(0);
    let list = json(&bed.plumbline(&["plugin", "list", "-o", "json"]).expect(0));
    let installed = &list["installed"][0]["installed"];
    assert_eq!((&installed["source"], &installed["version"]), (&json!(name), &json!("1.2")));

    // Pulled as a tar or into a directory, the bundle keeps its digest when it is pushed again.
    let pulled = json(&registry.plumbline(&bed, &["plugin", "pull", &name, "--json"]).expect(0));
    assert_eq!((&pulled["path"], &pulled["digest"]), (&json!("sample.bundle.tar"), &pushed["digest"]));
    registry.plumbline(&bed, &["plugin", "pull", &exact, "-f", "copy"]).expect(0);
    for what in ["sample.bundle.tar", "copy"] {
        let again = json(&registry.plumbline(&bed, &["plugin", "push", what, &name, "--json"]).expect(0));
        assert_eq!(again["manifest"], manifest, "{what}");
    }
    let there = registry.plumbline(&bed, &["plugin", "pull", &name, "-f", "copy"]).expect(2);
    assert!(there.err.contains("copy"), "{}", there.err);
}

#[test]
fn signatures_travel_with_their_bundle_over_an_air_gap() {
    let bed = Bed::new();
    let (Some(here), Some(there)) = (Registry::start(&bed, "here"), Registry::start(&bed, "there")) else { return };
    sample(&bed);
    bed.plumbline(&["plugin", "pack", "sample"]).expect(0);
    // Signatures as older versions wrote them: a list of envelopes.
    let envelope = |payload| json!({"payload": payload, "payloadType": "t", "signatures": [{"sig": ""}]});
    bed.write("sample.bundle.tar.dsse.json", &format!("[{},\n{}]\n", envelope("b25l"), envelope("dHdv")));
    let name = format!("oci://{}/team/sample:1.2", here.host);
    let pushed = json(&here.plumbline(&bed, &["plugin", "push", "sample.bundle.tar", &name, "--json"]).expect(0));
    assert_eq!(pushed["signatures"], 2);
    for stick in ["stick.tar", "stick"] {
        let saved = here.plumbline(&bed, &["plugin", "save", &name, "-f", stick]).expect(0);
        assert!(saved.out.contains(&format!("is {}, with 2", pushed["manifest"].as_str().unwrap())), "{}", saved.out);
    }
    drop(here);

    let listed = bed.plumbline(&["plugin", "load", "stick.tar"]).expect(0);
    assert!(listed.out.ends_with("/team/sample:1.2\n"), "{}", listed.out);
    let target = format!("oci://{}/mirror/", there.host);
    let loaded = there.plumbline(&bed, &["plugin", "load", "stick", "--to", &target]).expect(0);
    let mirrored = format!("{target}team/sample:1.2");
    assert!(loaded.out.contains(&mirrored), "{}", loaded.out);
    fs::remove_file(bed.path("sample.bundle.tar.dsse.json")).unwrap();
    there.plumbline(&bed, &["plugin", "pull", &mirrored]).expect(0);
    let signatures = |path: &std::path::Path| {
        let all = parse_attestations(&fs::read(path).unwrap()).unwrap();
        let has = |payload: &str| all.iter().any(|one| one.envelope().payload == payload.as_bytes());
        (all.len(), has("one"), has("two"))
    };
    assert_eq!(signatures(&bed.path("sample.bundle.tar.sigstore.json")), (2, true, true));

    bed.plumbline(&["plugin", "load", "stick.tar", "--install"]).expect(0);
    let exact = format!("{name}@{}", pushed["manifest"].as_str().unwrap());
    let record = fs::read_to_string(bed.path("home/data/plumbline/bundles/sample/install.json")).unwrap();
    assert!(record.contains(&exact), "{record}");
    assert_eq!(signatures(&bed.path("home/data/plumbline/bundles/sample/signatures.json")), (2, true, true));
    let list = json(&bed.plumbline(&["plugin", "list", "-o", "json"]).expect(0));
    assert_eq!(list["installed"][0]["bundle"]["digest"], pushed["digest"]);
}

#[test]
fn two_at_a_time_do_not_save_into_one_layout() {
    let bed = Bed::new();
    Layout::create(&bed.path("out")).unwrap();
    let held = fs::File::open(bed.path("out")).unwrap();
    held.try_lock().unwrap();
    let refused = bed.plumbline(&["plugin", "save", "oci://127.0.0.1:1/x:1", "-f", "out"]).expect(2);
    assert!(refused.err.contains("another process is copying artifacts into `out`"), "{}", refused.err);
}

#[test]
fn errors_of_registries_are_reported() {
    let bed = Bed::new();
    let done = bed.plumbline(&["run", "--local", "-p", "oci://registry.example.com/Team/x:1"]).expect(2);
    assert!(done.err.contains("invalid reference to a registry") && done.err.contains("hint:"), "{}", done.err);
    let done = bed.plumbline(&["plugin", "pull", "oci://h/x", "--insecure-registry", "http://h"]).expect(2);
    assert!(done.err.contains("`http://h`") || done.err.contains("`http:"), "{}", done.err);
    let done = bed.plumbline(&["plugin", "pull", "oci://h/x", "--registry-ca", "not-there.pem"]).expect(2);
    assert!(done.err.contains("not-there.pem"), "{}", done.err);
    bed.write("not-wasm.txt", "hello");
    let done = bed.plumbline(&["plugin", "push", "not-wasm.txt", "oci://h/x"]).expect(2);
    assert!(done.err.contains("neither a bundle nor a WebAssembly file"), "{}", done.err);
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    let name = format!("oci://{}/team/sample:1.2", registry.host);
    let done = registry.plumbline(&bed, &["plugin", "install", &name]).expect(2);
    assert!(done.err.contains(&name) && done.err.contains("not found"), "{}", done.err);
    // A component on its own is not a plugin.
    fs::write(bed.path("core.wasm"), b"\0asm\x01\0\0\0").unwrap();
    registry.plumbline(&bed, &["plugin", "push", "core.wasm", &name]).expect(0);
    let done = registry.plumbline(&bed, &["run", "--local", "-p", &name]).expect(2);
    assert!(done.err.contains("single WebAssembly file") && done.err.contains("plugin pull"), "{}", done.err);
    registry.plumbline(&bed, &["plugin", "pull", &name]).expect(0);
    assert_eq!(fs::read(bed.path("sample.wasm")).unwrap(), b"\0asm\x01\0\0\0");
}

/// The proxy of the environment is used for a host that is unreachable otherwise.
#[test]
fn the_proxy_of_the_environment_is_used_unless_it_is_ruled_out() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    // The registry itself also answers requests in the form for proxies, because it only looks at
    // the path.
    let name = "oci://registry.invalid/team/none:1";
    let args = ["plugin", "pull", name, "--insecure-registry", "registry.invalid"];
    for variable in ["HTTP_PROXY", "http_proxy"] {
        let mut command = command(&bed, &args);
        command.env(variable, format!("http://{}", registry.host));
        let done = Done::of(command).expect(2);
        assert!(done.err.contains("not found"), "{variable}: {}", done.err);
    }
    let mut command = command(&bed, &args);
    command.env("HTTP_PROXY", format!("http://{}", registry.host)).env("NO_PROXY", "registry.invalid");
    let done = Done::of(command).expect(4);
    assert!(done.err.contains("dns") || done.err.contains("resolve") || done.err.contains("lookup"), "{}", done.err);
}

#[test]
fn a_bundle_with_a_digest_is_downloaded_once_and_verified_each_time() {
    let bed = Bed::new();
    let Some(mut registry) = Registry::start(&bed, "storage") else { return };
    sample(&bed);
    let name = format!("oci://{}/team/sample:1", registry.host);
    let pushed = json(&registry.plumbline(&bed, &["plugin", "push", "sample", &name, "--json"]).expect(0));
    let exact = format!("oci://{}/team/sample@{}", registry.host, pushed["manifest"].as_str().unwrap());
    let run = |reference: &str| registry_run(&registry.host, &bed, reference);
    run(&exact).expect(0);
    registry.child.kill().unwrap();
    registry.child.wait().unwrap();
    // There may be newer signatures, which cannot be fetched.
    let done = run(&exact).expect(0);
    assert!(done.err.contains("warning: failed to read signatures of"), "{}", done.err);
    // Only the registry knows which digest a tag has now.
    run(&name).expect(4);
    for entry in fs::read_dir(bed.path("home/cache/plumbline/downloads")).unwrap() {
        fs::write(entry.unwrap().path(), "changed").unwrap();
    }
    // The bundle must be pulled again.
    let done = run(&exact).expect(4);
    assert!(done.err.contains("failed to pull manifest"), "{}", done.err);
}

fn registry_run(host: &str, bed: &Bed, reference: &str) -> Done {
    let mut command = command(bed, &["run", "--local", "--dir", "out", "-p", reference]);
    command.env("PLUMBLINE_INSECURE_REGISTRIES", host).env("NO_PROXY", "127.0.0.1");
    Done::of(command)
}

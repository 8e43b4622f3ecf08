//! Bundles that the aggregator pulls from a real registry (Debian's `docker-registry`), or finds in
//! its image.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use plumbline_registry::{BundleConfig, Client, CredentialFiles, Pushed, Reference, Settings, push_bundle};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::aggregator_role::{ARGS, Pod};
use crate::bed::{Bed, Done, Running, wait_for};
use crate::generate::{documents, of_kind};

/// An entry as `htpasswd -B` writes it: `user` with the password `secret`.
const HTPASSWD: &str = "user:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// The directory of fetched bundles, in a test's directory.
const FETCHED: &str = "out/.plumbline-run-aggregator/bundles";

/// A registry with its own certificate, which accepts only `user` with the password `secret`.
struct Registry {
    child: Child,
    host: String,
    dir: TempDir,
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
    fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("PLUMBLINE_DOCKER_REGISTRY").filter(|named| !named.is_empty()) else {
            eprintln!("SKIPPED: PLUMBLINE_DOCKER_REGISTRY names no program; `cargo xtask test` gets it from Debian");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        // A port that was free a moment ago. The server does not report a port that it chose
        // itself.
        let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        fs::write(path("ca.pem"), made.cert.pem()).unwrap();
        fs::write(path("key.pem"), made.signing_key.serialize_pem()).unwrap();
        fs::write(path("htpasswd"), HTPASSWD).unwrap();
        let config = json!({
            "version": "0.1", "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": path("storage")}},
            "http": {"addr": host, "secret": "of a test", "tls": {"certificate": path("ca.pem"), "key": path("key.pem")}},
            "auth": {"htpasswd": {"realm": "test", "path": path("htpasswd")}},
        });
        // JSON is valid YAML.
        fs::write(path("config.yml"), config.to_string()).unwrap();
        let child = serve(&program, &path("config.yml"), &host);
        let registry = Self { child, host, dir };
        registry.mount_secret();
        Some(registry)
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        let program = std::env::var_os("PLUMBLINE_DOCKER_REGISTRY").unwrap();
        self.child = serve(&program, &self.dir.path().join("config.yml"), &self.host);
    }

    /// Writes the credentials as the kubelet mounts a Secret: links to files in a hidden directory.
    fn mount_secret(&self) {
        let data = self.secret().join("..2026_01_01");
        fs::create_dir_all(&data).unwrap();
        // `user:secret` in base64.
        let auths = json!({"auths": {(self.host.clone()): {"auth": "dXNlcjpzZWNyZXQ="}}});
        fs::write(data.join("config.json"), auths.to_string()).unwrap();
        std::os::unix::fs::symlink("..2026_01_01", self.secret().join("..data")).unwrap();
        std::os::unix::fs::symlink("..data/config.json", self.secret().join("config.json")).unwrap();
    }

    fn secret(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    fn ca(&self) -> String {
        fs::read_to_string(self.dir.path().join("ca.pem")).unwrap()
    }

    /// Pushes a tar, whatever it contains. Returns the reference with the digest, and what was
    /// pushed.
    fn push(&self, name: &str, tar: &Path) -> (String, Pushed) {
        let settings = Settings {
            ca_files: vec![self.dir.path().join("ca.pem")],
            credentials: CredentialFiles { files: vec![self.secret().join("config.json")], helper_path: None },
            proxies: false,
            ..Settings::default()
        };
        let to: Reference = format!("oci://{}/team/{name}:1", self.host).parse().unwrap();
        let config = BundleConfig { name: name.to_owned(), ..BundleConfig::default() };
        let client = Client::new(settings).unwrap();
        let pushed = async { push_bundle(&client, &to, tar, &config, BTreeMap::new()).await };
        let pushed = Runtime::new().unwrap().block_on(pushed).unwrap();
        (to.with_digest(pushed.manifest).to_string(), pushed)
    }
}

/// Starts the registry, and waits until it accepts connections.
fn serve(program: &OsStr, config: &Path, host: &str) -> Child {
    let mut command = Command::new(program);
    command.arg("serve").arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    wait_for("the registry", || TcpStream::connect(host).is_ok());
    child
}

fn built_in(name: &str) -> PathBuf {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), Into::into);
    modules.join(name)
}

const DEFINITION: &str =
    "sonobuoy-config: {driver: Job, plugin-name: NAME, result-format: mine}\nspec: {name: plugin, image: r/i:1}\n";

/// Writes the bundle `name` with the module `mine` to a directory, and packs it. Returns the path
/// of the tar and its digest.
fn bundle(bed: &Bed, name: &str) -> (PathBuf, String) {
    bed.write(&format!("bundles/{name}/plugin.yaml"), &DEFINITION.replace("NAME", name));
    fs::copy(built_in("raw.wasm"), bed.path(&format!("bundles/{name}/mine.wasm"))).unwrap();
    let done = bed.plumbline(&["plugin", "pack", &format!("bundles/{name}"), "--json"]).expect(0);
    let packed: Value = serde_json::from_str(&done.out).unwrap();
    (bed.path(packed["path"].as_str().unwrap()), packed["digest"].as_str().unwrap().to_owned())
}

/// Configures an aggregator for the plugin `smoke`, whose format is the module of its bundle.
fn configured(pod: &Pod, plumbline: &Value) {
    pod.bed.write("plugins.d/smoke.yaml", &DEFINITION.replace("NAME", "smoke"));
    let mut config: Value = serde_json::from_slice(&fs::read(pod.bed.path("config.json")).unwrap()).unwrap();
    let own = config["Plumbline"].as_object_mut().unwrap();
    own.extend(plumbline.as_object().unwrap().clone());
    config["ImagePullSecrets"] = json!("pulls");
    pod.bed.write("config.json", &config.to_string());
}

/// Returns the binary without the caller's settings for registries.
fn command(bed: &Bed, args: &[&str], secret: Option<&Path>) -> Command {
    let mut command = bed.command(args);
    for name in ["REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "PLUMBLINE_REGISTRY_CA"] {
        command.env_remove(name);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command.envs(secret.map(|secret| ("DOCKER_CONFIG", secret)));
    command
}

fn start(pod: &Pod, secret: Option<&Path>, more: &[&str]) -> Running {
    pod.bed.start_command("aggregator", command(&pod.bed, &[&ARGS, more].concat(), secret))
}

/// Waits until the aggregator only stays for its archive, stops it, and returns its log.
fn over(running: Running) -> String {
    wait_for("the end of the run", || {
        running.err().contains("this pod keeps running so that its archive can be downloaded")
    });
    let log = anstream::adapter::strip_str(&running.err()).to_string();
    running.signal("TERM");
    running.wait();
    log
}

#[test]
fn a_bundle_is_pulled_with_the_pull_secret_and_found_by_the_next_container() {
    let Some(registry) = Registry::start() else { return };
    let pod = Pod::advertising("", &json!({"Storage": "pvc:1Gi"}));
    let (tar, digest) = bundle(&pod.bed, "smoke");
    let (reference, _) = registry.push("smoke", &tar);
    let own = json!({
        "Bundles": [{"Plugin": "smoke", "Reference": reference, "Digest": digest}, {"Plugin": "other", "Digest": digest}],
        "Registry": {"CA": registry.ca()},
    });
    configured(&pod, &own);
    let launched = |begun: &str| {
        let running = start(&pod, Some(&registry.secret()), &[]);
        wait_for("the run", || running.err().contains("launched"));
        running.signal("TERM");
        let log = anstream::adapter::strip_str(&running.wait().expect(143).err).to_string();
        assert!(log.contains(begun), "{log}");
        log
    };
    let log = launched("the bundle is ready");
    assert!(log.contains("ignored plugin `other` in `Plumbline.Bundles`: it is not in this run"), "{log}");
    assert!(!log.contains("`mine`"), "the module is known: {log}");
    let dir = pod.bed.path(FETCHED).join(digest.strip_prefix("sha256:").unwrap());
    assert_eq!(fs::read(dir.join("mine.wasm")).unwrap(), fs::read(built_in("raw.wasm")).unwrap());

    // The next container finds the bundle, and does not ask the registry.
    let secret = registry.secret();
    fs::remove_file(secret.join("config.json")).unwrap();
    let log = launched("the bundle was downloaded before");
    assert!(log.contains("begun=Continued") && !log.contains("downloading the bundle"), "{log}");

    // A bundle whose files were changed is fetched again.
    registry.mount_secret_again();
    let module = dir.join("mine.wasm");
    fs::set_permissions(&module, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&module, b"changed").unwrap();
    launched("the bundle is ready");
    assert_eq!(fs::read(module).unwrap(), fs::read(built_in("raw.wasm")).unwrap());
}

impl Registry {
    fn mount_secret_again(&self) {
        std::os::unix::fs::symlink("..data/config.json", self.secret().join("config.json")).unwrap();
    }
}

#[test]
fn a_bundle_that_cannot_be_downloaded_fails_the_run_with_the_reason() {
    let Some(registry) = Registry::start() else { return };
    let bed = Bed::new();
    let (tar, digest) = bundle(&bed, "smoke");
    let (good, _) = registry.push("smoke", &tar);
    let (other_tar, other_digest) = bundle(&bed, "other");
    let (other, _) = registry.push("other", &other_tar);
    // A link in a tar may lead to any path that its author chose.
    fs::write(bed.path("plugin.yaml"), DEFINITION.replace("NAME", "smoke")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", bed.path("README.md")).unwrap();
    let tarred = Command::new("tar")
        .args(["--format=ustar", "--owner=0", "--group=0", "--mtime=@0", "--mode=0644", "-cf", "hostile.tar"])
        .args(["README.md", "plugin.yaml"])
        .current_dir(bed.root())
        .status();
    assert!(tarred.unwrap().success());
    let (hostile, pushed) = registry.push("hostile", &bed.path("hostile.tar"));
    let hostile_digest = pushed.content.to_string();
    let gone = format!("oci://{}/team/gone@sha256:{}", registry.host, "1".repeat(64));
    let open = format!("oci://{}/team/smoke:1", registry.host);

    let (ca, no_ca) = (registry.ca(), String::new());
    let (secret, none) = (registry.secret(), PathBuf::from("/none"));
    let cases: [(&str, &str, &str, &Path, &[&str]); 7] = [
        (&good, &digest, &ca, &none, &["none are configured", "Secret `pulls`", "`ImagePullSecrets`"]),
        (&good, &digest, &no_ca, &secret, &["the TLS connection is not trusted", "`Plumbline.Registry.CA`"]),
        (&good, &other_digest, &ca, &secret, &[&digest, &other_digest, "the configuration expects"]),
        (&other, &other_digest, &ca, &secret, &["belongs to another plugin", "`other`"]),
        (&hostile, &hostile_digest, &ca, &secret, &["entry `README.md` is not allowed", "symbolic link"]),
        (&gone, &digest, &ca, &secret, &["not found", "check that it is still in the registry"]),
        (&open, &digest, &ca, &secret, &["has no digest", "sha256:…"]),
    ];
    for (reference, digest, ca, secret, expected) in cases {
        let pod = Pod::new(&json!({}));
        let bundle = json!({"Plugin": "smoke", "Reference": reference, "Digest": digest});
        configured(&pod, &json!({"Bundles": [bundle], "Registry": {"CA": ca}}));
        let log = over(start(&pod, Some(secret), &[]));
        for words in [&["`smoke`", reference], expected].concat() {
            // Messages always name the plugin. They name the reference unless the bundle is that of
            // another plugin.
            let at_fault = words != reference || !log.contains("belongs to another plugin");
            assert!(!at_fault || log.contains(words), "{reference}: {words}: {log}");
        }
        assert!(!log.contains("pass the registry's CA with"), "a hint for the command line leads nowhere here: {log}");
        let annotations = pod.double.get("pods", "checks", "sonobuoy").unwrap()["metadata"]["annotations"].clone();
        let status: Value = serde_json::from_str(annotations["sonobuoy.hept.io/status"].as_str().unwrap()).unwrap();
        assert_eq!(status["status"], "failed", "{log}");
        // The status of the run has the same reason and hint.
        let failure = format!("{} {}", status["failure"]["reason"], status["failure"]["hint"]);
        for words in expected {
            assert!(failure.contains(words), "{words}: {failure}");
        }
        let left = |path: &Path| fs::read_dir(path).map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
        let left: Vec<PathBuf> = left(&pod.bed.path(FETCHED)).unwrap_or_default();
        let hex = |path: &PathBuf| path.file_name().unwrap().len() == 64;
        assert_eq!(left.iter().filter(|path| hex(path)).count(), usize::from(reference == other), "{left:?}");
    }
}

#[test]
fn a_bundle_in_the_image_is_used_if_it_is_the_one() {
    let pod = Pod::new(&json!({"FailFast": true}));
    let (_, digest) = bundle(&pod.bed, "smoke");
    let config =
        |digest: &str| configured(&pod, &json!({"Bundles": [{"Plugin": "smoke", "Reference": "", "Digest": digest}]}));
    let args = ["--baked", "bundles"];
    let failed = |wanted: &[&str], args: &[&str]| {
        let log = over(start(&pod, None, args));
        assert!(wanted.iter().all(|words| log.contains(words)), "{log}");
    };
    config(&format!("sha256:{}", "2".repeat(64)));
    failed(&["`smoke`", "wrong bundle of plugin", &digest, "bake the image again"], &args);
    config(&digest);
    failed(&["`smoke`", "is not in this image", "plugin bake"], &["--baked", "elsewhere"]);
    let log = over(start(&pod, None, &args));
    assert!(log.contains("using the bundle in the image") && log.contains("the run is complete"), "{log}");
    let modules = pod.bed.member("meta/modules.json");
    assert!(modules.contains("mine.wasm"), "{modules}");
}

/// Returns the configuration in the manifest that `gen` prints, and the number of ConfigMaps with
/// modules.
fn generated(bed: &Bed, secret: Option<&Path>, args: &[&str]) -> (Value, usize) {
    let args = [&["gen", "--kubernetes-version", "v1.30.2"], args].concat();
    let printed = documents(&Done::of(command(bed, &args, secret)).expect(0).out);
    let maps = of_kind(&printed, "ConfigMap");
    let config = maps.iter().find_map(|map| map["data"]["config.json"].as_str()).unwrap();
    let modules = maps.iter().filter(|map| map["metadata"]["name"].as_str().unwrap().starts_with("plumbline-modules"));
    (serde_json::from_str(config).unwrap(), modules.count())
}

#[test]
fn the_manifest_says_how_modules_are_delivered() {
    let Some(registry) = Registry::start() else { return };
    let bed = Bed::new();
    let (tar, digest) = bundle(&bed, "smoke");
    let (reference, _) = registry.push("smoke", &tar);
    let tagged = format!("oci://{}/team/smoke:1", registry.host);
    let (secret, ca) = (registry.secret(), registry.dir.path().join("ca.pem"));
    let (secret, ca) = (Some(secret.as_path()), ca.to_str().unwrap());

    let (config, maps) = generated(&bed, secret, &["-p", &tagged, "--registry-ca", ca]);
    assert_eq!((&config["Plumbline"]["Bundles"], maps), (&Value::Null, 1), "small ones are carried");

    // A plugin without modules has nothing to deliver, wherever it comes from.
    let pulled = ["-p", &tagged, "-p", "systemd-logs", "--registry-ca", ca, "--bundle-delivery", "registry"];
    let (config, maps) = generated(&bed, secret, &[&pulled[..], &["--insecure-registry", "h:5000"]].concat());
    let own = &config["Plumbline"];
    let bundles = json!([{"Plugin": "smoke", "Reference": reference, "Digest": digest}]);
    assert_eq!((&own["Bundles"], maps), (&bundles, 0), "by digest, whatever the tag will be");
    assert_eq!(own["Registry"], json!({"Insecure": ["h:5000"], "CA": registry.ca()}));
    assert_eq!((&own["PluginBundles"]["smoke"], &own["PluginSources"]["smoke"]), (&json!(digest), &json!(tagged)));

    let (config, maps) = generated(&bed, None, &["-p", "bundles/smoke", "--bundle-delivery", "baked"]);
    let bundles = json!([{"Plugin": "smoke", "Reference": "", "Digest": digest}]);
    assert_eq!((&config["Plumbline"]["Bundles"], maps), (&bundles, 0));
    assert_eq!(config["Plumbline"]["Registry"], Value::Null);

    // The command line decides how the modules of a plugin are delivered, so an older entry for it
    // is removed. Entries for other plugins stay.
    let old = json!({"Plumbline": {"Bundles": [
        {"Plugin": "smoke", "Reference": "", "Digest": "old"}, {"Plugin": "apart", "Reference": "", "Digest": "kept"},
    ]}});
    bed.write("old.json", &old.to_string());
    let (config, maps) = generated(&bed, None, &["-p", "bundles/smoke", "--config", "old.json"]);
    let kept = json!([{"Plugin": "apart", "Reference": "", "Digest": "kept"}]);
    assert_eq!((&config["Plumbline"]["Bundles"], maps), (&kept, 1));

    let args = ["gen", "-p", "bundles/smoke", "--bundle-delivery", "registry", "--kubernetes-version", "v1.30.2"];
    let done = bed.plumbline(&args).expect(2);
    assert!(done.err.contains("`smoke` must come from a registry") && done.err.contains("plugin push"), "{}", done.err);
    let renamed = format!("{}@nightly", tar.display());
    let args = ["gen", "-p", &renamed, "--bundle-delivery", "baked", "--kubernetes-version", "v1.30.2"];
    let done = bed.plumbline(&args).expect(2);
    assert!(done.err.contains("`nightly` is the bundle `smoke` under another name"), "{}", done.err);
}

#[test]
fn a_registry_that_is_out_of_reach_at_first_is_tried_again() {
    let Some(mut registry) = Registry::start() else { return };
    let pod = Pod::new(&json!({}));
    let (tar, digest) = bundle(&pod.bed, "smoke");
    let (reference, _) = registry.push("smoke", &tar);
    let bundles = json!([{"Plugin": "smoke", "Reference": reference, "Digest": digest}]);
    configured(&pod, &json!({"Bundles": bundles, "Registry": {"CA": registry.ca()}}));
    registry.stop();
    let running = start(&pod, Some(&registry.secret()), &[]);
    wait_for("an attempt", || running.err().contains("retrying in"));
    let failure = || {
        let status = published(&pod).filter(|status| status["status"] == "running")?;
        status.get("failure").filter(|failure| failure.is_object()).map(Value::to_string)
    };
    wait_for("the reason in the status", || failure().is_some());
    let failure = failure().unwrap();
    for words in ["a registry delays the start of the run", "`smoke`", "refused", "for up to 60 minutes", "plugin bake"]
    {
        assert!(failure.contains(words), "{words}: {failure}");
    }
    registry.start_again();
    wait_for("the bundle", || running.err().contains("the bundle is ready"));
}

/// Returns the status that the aggregator published last.
fn published(pod: &Pod) -> Option<Value> {
    let own = pod.double.get("pods", "checks", "sonobuoy").unwrap();
    let text = own["metadata"]["annotations"]["sonobuoy.hept.io/status"].as_str()?;
    serde_json::from_str(text).ok()
}

#[test]
fn an_aggregator_that_downloads_bundles_sends_heartbeats_and_ends_on_sigterm() {
    // A server that accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = silent.local_addr().unwrap().to_string();
    let pod = Pod::new(&json!({}));
    let digest = format!("sha256:{}", "1".repeat(64));
    let bundle = json!({"Plugin": "smoke", "Reference": format!("oci://{host}/team/smoke@{digest}"), "Digest": digest});
    configured(&pod, &json!({"Bundles": [bundle], "Registry": {"Insecure": [host]}}));
    let running = start(&pod, None, &[]);
    let status = || published(&pod);
    let (mut asked, _) = silent.accept().unwrap();
    let mut word = [0; 3];
    std::io::Read::read_exact(&mut asked, &mut word).unwrap();
    assert_eq!(&word, b"GET", "the configuration names it as one over plain HTTP");
    wait_for("a sign of life", || status().is_some());
    let seen = status().unwrap();
    assert_eq!((&seen["status"], &seen["plugins"]), (&json!("running"), &Value::Null));
    assert!(seen["heartbeat"].is_string());
    running.signal("TERM");
    let log = running.wait().err;
    assert!(log.contains("asked to stop while it downloaded bundles"), "{log}");
    assert_eq!(status().unwrap()["status"], "failed");
}

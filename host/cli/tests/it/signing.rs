//! Keys, signatures and policies, from the command line.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use plumbline_bundle::{Bundle, Origin, Store};
use serde_json::Value;

use crate::bed::{Bed, Done};

/// Writes the bundle `NAME/` and packs it to `NAME.bundle.tar`.
pub(crate) fn packed(bed: &Bed, name: &str, word: &str) -> String {
    let script = format!(
        "echo {word} > $SONOBUOY_RESULTS_DIR/out; printf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done"
    );
    bed.write(
        &format!("{name}/plugin.yaml"),
        &format!(
            "sonobuoy-config: {{driver: Process, plugin-name: {name}}}\nspec:\n  name: plugin\n  command: [sh, -euc]\n  args: ['{script}']\n"
        ),
    );
    let bundle = Bundle::open(bed.path(name)).unwrap();
    let tar = bundle.file_name();
    bundle.pack(File::create(bed.path(&tar)).unwrap()).unwrap();
    tar
}

/// Creates the key pair `NAME.key` and `NAME.pub`.
pub(crate) fn keygen(bed: &Bed, name: &str) {
    bed.plumbline(&["plugin", "keygen", "--file", name]).expect(0);
}

pub(crate) fn sign(bed: &Bed, bundle: &str, key: &str) -> Done {
    bed.plumbline(&["plugin", "sign", bundle, "--key", &format!("{key}.key")])
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

#[test]
fn a_bundle_is_signed_and_verified() {
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    let made = bed.plumbline(&["plugin", "keygen", "--file", "release", "-o", "json"]).expect(0);
    let id = json(&made)["key-id"].as_str().unwrap().to_owned();
    assert_eq!(bed.path("release.key").metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let args = [
        "plugin",
        "sign",
        &tar,
        "--key",
        "release.key",
        "--release",
        "1.2.0",
        "--source",
        "https://tap.example",
        "-o",
        "json",
    ];
    let signed = json(&bed.plumbline(&args).expect(0));
    assert_eq!(signed["name"], "tap");
    assert_eq!(signed["signatures"], "tap.bundle.tar.sigstore.json");

    let done = bed.plumbline(&["plugin", "verify", &tar, "--key", "release.pub", "-o", "json"]).expect(0);
    let verified = json(&done);
    assert_eq!((&verified["verified"], &verified["key-id"]), (&true.into(), &id.into()));
    assert_eq!(verified["digest"], signed["digest"]);
    assert_eq!(verified["statement"]["version"], "1.2.0");
    let shown = bed.plumbline(&["plugin", "verify", &tar, "--key", "release.pub"]).expect(0).out;
    assert!(shown.starts_with("verified: `tap` sha256:") && shown.contains("https://tap.example"), "{shown}");
}

#[test]
fn a_failed_verification_has_its_reason_and_exit_code_1() {
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    keygen(&bed, "stranger");
    let reasons_of = |args: &[&str]| {
        let done = bed.plumbline(&[&["plugin", "verify", &tar, "-o", "json"], args].concat()).expect(1);
        let document = json(&done);
        assert_eq!(document["verified"], false);
        document["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(reasons_of(&["--key", "release.pub"]), "it is not signed");
    sign(&bed, &tar, "stranger").expect(0);
    assert!(reasons_of(&["--key", "release.pub"]).contains("which is not trusted for this name"));
    bed.write(
        "policy.yaml",
        "version: 1\nkeys: {release: {file: release.pub}}\nrules: [{names: [other-*], keys: [release]}]\n",
    );
    sign(&bed, &tar, "release").expect(0);
    assert_eq!(
        reasons_of(&["--policy", "policy.yaml"]),
        "no rule of policy `policy.yaml` matches this name, so no signature is trusted"
    );
    // The bundle has the same name and other bytes, so the signatures are for another digest.
    packed(&bed, "tap", "changed");
    assert!(reasons_of(&["--key", "release.pub"]).contains("signed another bundle: sha256:"));
    let shown = bed.plumbline(&["plugin", "verify", &tar, "--key", "release.pub"]).expect(1).out;
    assert!(shown.starts_with("not verified: `tap` sha256:"), "{shown}");
}

#[test]
fn the_policy_is_found_where_it_belongs() {
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    sign(&bed, &tar, "release").expect(0);
    let done = bed.plumbline(&["plugin", "verify", &tar]).expect(2);
    assert!(done.err.contains("found no policy for signatures"), "{}", done.err);

    let policy = |until: &str| {
        format!(
            "version: 1\nkeys: {{release: {{file: ../../../release.pub, not-after: {until}}}}}\nrules: [{{names: ['*'], keys: [release]}}]\n"
        )
    };
    bed.write("home/config/plumbline/policy.yaml", &policy("2999-12-31"));
    bed.plumbline(&["plugin", "verify", &tar]).expect(0);
    bed.write("a/b/c/old.yaml", &policy("2020-12-31"));
    let mut command = bed.command(&["plugin", "verify", &tar]);
    command.env("PLUMBLINE_POLICY", "a/b/c/old.yaml");
    let done = Done::of(command).expect(1);
    assert!(done.out.contains("by key `release`, which was trusted until 2021-01-01T00:00:00Z"), "{}", done.out);
    // With `--key`, no policy is read, wherever it is.
    let mut command = bed.command(&["plugin", "verify", &tar, "--key", "release.pub"]);
    command.env("PLUMBLINE_POLICY", "a/b/c/old.yaml");
    Done::of(command).expect(0);
    bed.write("half.yaml", "version: 1\nkeys: {}\nrule: []\n");
    let done = bed.plumbline(&["plugin", "verify", &tar, "--policy", "half.yaml"]).expect(2);
    assert!(done.err.contains("`rule` is not a known key: did you mean `rules`?"), "{}", done.err);
}

#[test]
fn a_pipeline_keeps_its_key_in_a_variable() {
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    let key = fs::read_to_string(bed.path("release.key")).unwrap();
    let sign = |value: &str| {
        let mut command = bed.command(&["plugin", "sign", &tar]);
        command.env("PLUMBLINE_SIGNING_KEY", value);
        Done::of(command)
    };
    sign(&key).expect(0);
    sign("release.key").expect(0);
    assert!(sign("-----BEGIN nonsense").expect(2).err.contains("invalid key in `PLUMBLINE_SIGNING_KEY`"));
    let done = sign("").expect(2);
    assert!(done.err.contains("no key to sign with") && done.err.contains("plugin keygen"), "{}", done.err);
    bed.plumbline(&["plugin", "verify", &tar, "--key", "release.pub"]).expect(0);
}

#[test]
fn keys_are_not_replaced_and_not_left_open_silently() {
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    let old = fs::read(bed.path("release.key")).unwrap();
    let done = bed.plumbline(&["plugin", "keygen", "--file", "release"]).expect(2);
    assert!(done.err.contains("`release.key` already exists") && done.err.contains("--force"), "{}", done.err);
    assert_eq!(fs::read(bed.path("release.key")).unwrap(), old);
    bed.plumbline(&["plugin", "keygen", "--file", "release", "--force"]).expect(0);
    assert_ne!(fs::read(bed.path("release.key")).unwrap(), old);
    fs::set_permissions(bed.path("release.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let done = sign(&bed, &tar, "release").expect(0);
    assert!(done.err.contains("chmod 600 release.key"), "{}", done.err);
    bed.plumbline(&["plugin", "keygen", "--file", "no/such/directory/key"]).expect(4);
}

#[test]
fn a_failed_signature_has_a_hint() {
    let bed = Bed::new();
    packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    let stderr_of = |bundle: &str| sign(&bed, bundle, "release").expect(2).err;
    assert!(stderr_of("tap").contains("plumbline plugin pack tap"), "{}", stderr_of("tap"));
    assert!(stderr_of("nothing").contains("neither a file nor an installed bundle"), "{}", stderr_of("nothing"));
    bed.write("lie.bundle.tar", "no tar at all");
    assert!(
        stderr_of("lie.bundle.tar").contains("`lie.bundle.tar` is not a bundle"),
        "{}",
        stderr_of("lie.bundle.tar")
    );
    bed.write("tap.bundle.tar.sigstore.json", "precious");
    assert!(stderr_of("tap.bundle.tar").contains("invalid signatures"), "{}", stderr_of("tap.bundle.tar"));
    assert_eq!(fs::read_to_string(bed.path("tap.bundle.tar.sigstore.json")).unwrap(), "precious");
}

#[test]
fn an_installed_bundle_keeps_its_signatures() {
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    let store = Store::at(bed.path("home/data/plumbline/bundles"));
    let origin =
        Origin { source: "oci://r.example/team/tap:1".to_owned(), version: Some("1".to_owned()), signatures: None };
    store.install(&bed.path(&tar), origin).unwrap();
    bed.write(
        "policy.yaml",
        "version: 1\nkeys: {release: {file: release.pub}}\nrules: [{names: ['oci://r.example/team/*'], keys: [release]}]\n",
    );
    let verify = ["plugin", "verify", "tap", "--policy", "policy.yaml"];
    assert!(fs::remove_dir_all(bed.path("tap")).is_ok());
    assert!(bed.plumbline(&verify).expect(1).out.contains("it is not signed"));
    sign(&bed, "tap", "release").expect(0);
    let shown = bed.plumbline(&verify).expect(0).out;
    assert!(shown.contains("version:  1\n"), "{shown}");
    assert!(store.find("tap").unwrap().unwrap().signatures.is_some());
}

#[test]
fn openssl_verifies_what_is_signed() {
    if !Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED openssl_verifies_what_is_signed: `openssl` not found");
        return;
    }
    let bed = Bed::new();
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    sign(&bed, &tar, "release").expect(0);
    // The commands of docs/signing.md, which need only a shell and OpenSSL.
    let script = r#"
        field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" tap.bundle.tar.sigstore.json; }
        type=$(field payloadType)
        field payload | base64 -d > payload
        field sig | base64 -d > sig
        { printf 'DSSEv1 %d %s %d ' ${#type} "$type" $(wc -c < payload); cat payload; } > signed
        openssl dgst -sha256 -verify release.pub -signature sig signed"#;
    let output = Command::new("sh").args(["-euc", script]).current_dir(bed.root()).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

//! Signatures in a real registry: Debian's `docker-registry`, on loopback.

use plumbline_registry::{Client, Reference, Settings, media};
use serde_json::Value;

use crate::bed::Bed;
use crate::registries::Registry;
use crate::signing::{keygen, packed, sign};

#[test]
fn a_bundle_in_a_registry_is_signed_and_verified_there() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    let tar = packed(&bed, "tap", "hello");
    let reference = format!("oci://{}/team/tap:1.2", registry.host);
    registry.plumbline(&bed, &["plugin", "push", &tar, &reference]).expect(0);
    keygen(&bed, "release");
    keygen(&bed, "stranger");
    let verify = |code: i32| {
        let args = ["plugin", "verify", &reference, "--policy", "policy.yaml", "-o", "json"];
        let document: Value = serde_json::from_str(&registry.plumbline(&bed, &args).expect(code).out).unwrap();
        document
    };
    let rule = |pattern: &str| {
        bed.write(
            "policy.yaml",
            &format!("version: 1\nkeys: {{release: {{file: release.pub}}}}\nrules: [{{names: ['{pattern}'], keys: [release]}}]\n"),
        );
    };
    rule(&format!("oci://{}/team/*", registry.host));
    assert_eq!(verify(1)["reasons"][0], "it is not signed");
    for key in ["stranger.key", "release.key"] {
        registry.plumbline(&bed, &["plugin", "sign", &reference, "--key", key]).expect(0);
    }
    let document = verify(0);
    assert_eq!((&document["key"], &document["statement"]["version"]), (&"release".into(), &"1.2".into()));
    // A run pulls the bundle and applies the same policy, and so does a run of the installed
    // bundle.
    let run = |plugin: &str, code: i32| {
        let args = ["run", "--local", "--require-signed", "--policy", "policy.yaml", "--dir", "out", "-p", plugin];
        registry.plumbline(&bed, &args).expect(code)
    };
    run(&reference, 0);
    registry.plumbline(&bed, &["plugin", "install", &reference]).expect(0);
    std::fs::remove_dir_all(bed.path("tap")).unwrap();
    run("tap", 0);
    rule("oci://elsewhere.example/team/*");
    assert!(verify(1)["reasons"][0].as_str().unwrap().starts_with("no rule of policy"));
    for plugin in [&reference, "tap"] {
        assert!(run(plugin, 2).err.contains("no rule of policy"));
    }
}

#[test]
fn signatures_of_a_tar_are_pushed_and_an_invalid_one_does_not_hide_others() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    let tar = packed(&bed, "tap", "hello");
    keygen(&bed, "release");
    sign(&bed, &tar, "release").expect(0);
    let reference = format!("oci://{}/team/tap:1.2", registry.host);
    registry.plumbline(&bed, &["plugin", "push", &tar, &reference]).expect(0);
    let verify = || registry.plumbline(&bed, &["plugin", "verify", &reference, "--key", "release.pub"]).expect(0);
    verify();
    // Anyone with write access to the repository can attach anything.
    let settings = Settings { insecure: vec![registry.host.clone()], ..Settings::default() };
    let client = Client::new(settings).unwrap();
    let parsed: Reference = reference.parse().unwrap();
    let attached = async {
        let manifest = client.manifest(&parsed).await.unwrap().digest;
        for content in ["no json", "7", r#"{"payload":1}"#] {
            client.attach(&parsed, manifest, media::DSSE, content.into(), Default::default()).await.unwrap();
        }
    };
    tokio::runtime::Runtime::new().unwrap().block_on(attached);
    let shown = verify();
    assert!(shown.err.contains("ignored"), "{}", shown.err);
    // Nor does it in the file next to a tar that was pulled, in which signatures that were made here stay.
    keygen(&bed, "second");
    let pull = || registry.plumbline(&bed, &["plugin", "pull", &reference, "-f", "pulled.bundle.tar"]).expect(0);
    let check = |key: &str| bed.plumbline(&["plugin", "verify", "pulled.bundle.tar", "--key", key]).expect(0);
    pull();
    check("release.pub");
    sign(&bed, "pulled.bundle.tar", "second").expect(0);
    pull();
    check("release.pub");
    check("second.pub");
}

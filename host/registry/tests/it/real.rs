//! Tests with a real registry.

use std::collections::BTreeMap;
use std::io::Read as _;

use plumbline_registry::{
    BundleConfig, BundleModule, Cause, Client, Component, CredentialFiles, Descriptor, Digest, Kind, Manifest,
    Settings, media, pull, push_bundle, push_module,
};

use crate::server::Registry;
use crate::{file, reference};

fn config() -> BundleConfig {
    let module = BundleModule {
        name: "tap".into(),
        file: "tap.wasm".into(),
        digest: Digest::of(b"m").to_string(),
        ..BundleModule::default()
    };
    BundleConfig { name: "check".into(), version: Some("1.2".into()), modules: vec![module], ..BundleConfig::default() }
}

/// Returns more bytes than fit into one chunk.
fn content() -> Vec<u8> {
    (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[tokio::test]
async fn a_bundle_is_pushed_and_pulled_by_tag_and_by_digest() {
    let Some(registry) = Registry::open().await else { return };
    let tar = file(registry.dir.path(), "some.tar", &content());
    let (client, name) = (registry.client(), reference(&registry.host, "team/check:1.2"));
    let annotations = BTreeMap::from([("org.opencontainers.image.version".to_owned(), "1.2".to_owned())]);
    let pushed = push_bundle(&client, &name, &tar, &config(), annotations.clone()).await.unwrap();
    assert_eq!((pushed.content, pushed.bytes, pushed.there), (Digest::of(&content()), 3_000_000, false));
    // The same content has the same digest, and nothing is uploaded.
    let again = push_bundle(&client, &name, &tar, &config(), annotations.clone()).await.unwrap();
    assert_eq!((again.manifest, again.there), (pushed.manifest, true));

    for asked in [name.clone(), name.by_digest(pushed.manifest), name.with_digest(pushed.manifest)] {
        let pulled = pull(&client, &asked).await.unwrap();
        assert_eq!((pulled.kind, pulled.manifest, pulled.resolved()), (Kind::Bundle, pushed.manifest, pushed.manifest));
        let mut read = Vec::new();
        pulled.file.as_file().read_to_end(&mut read).unwrap();
        assert!(read == content());
        assert_eq!(pulled.annotations, annotations);
        assert_eq!(serde_json::from_value::<BundleConfig>(pulled.config).unwrap(), config());
        assert_eq!(pulled.layer.annotations[media::TITLE], "check.bundle.tar");
    }
    let manifest = client.manifest(&name).await.unwrap();
    let Manifest::Image(image) = &manifest.manifest else { panic!("{manifest:?}") };
    assert_eq!(image.artifact_type.as_deref(), Some(media::BUNDLE));
    assert_eq!(image.config.media_type, media::BUNDLE_CONFIG);
}

#[tokio::test]
async fn a_module_is_pushed_as_others_push_theirs() {
    let Some(registry) = Registry::open().await else { return };
    let wasm = file(registry.dir.path(), "tap.wasm", b"\0asm\x0d\0\x01\0");
    let (client, name) = (registry.client(), reference(&registry.host, "tap:1"));
    let component = Component { exports: vec!["plumbline:plugin/post-processor".into()], ..Component::default() };
    let pushed = push_module(&client, &name, &wasm, Some(&component), BTreeMap::new()).await.unwrap();
    let pulled = pull(&client, &name).await.unwrap();
    assert_eq!((pulled.kind, pulled.manifest), (Kind::Module, pushed.manifest));
    assert_eq!(pulled.layer.media_type, media::WASM);
    assert_eq!(pulled.layer.annotations[media::TITLE], "tap.wasm");
    let digest = Digest::of(b"\0asm\x0d\0\x01\0").to_string();
    assert_eq!(
        pulled.config,
        serde_json::json!({
            "created": "1970-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2", "layerDigests": [digest],
            "component": {"exports": ["plumbline:plugin/post-processor"], "imports": [], "target": null},
        })
    );
    let Manifest::Image(image) = client.manifest(&name).await.unwrap().manifest else { panic!("no image") };
    assert_eq!((image.config.media_type.as_str(), image.artifact_type), (media::WASM_CONFIG, None));
}

#[tokio::test]
async fn modules_of_old_are_pulled() {
    let Some(registry) = Registry::open().await else { return };
    let (client, name) = (registry.client(), reference(&registry.host, "old:1"));
    let content = bytes::Bytes::from_static(b"\0asm\x01\0\0\0");
    let configs = ["application/vnd.wasm.config.v1+json", media::OCI_CONFIG];
    for (layer, config) in media::OLD_WASM.into_iter().zip(configs) {
        let (config, layer) = (Descriptor::of(config, b"{}"), Descriptor::of(layer, &content));
        client.push_bytes(&name, &config, bytes::Bytes::from_static(b"{}")).await.unwrap();
        client.push_bytes(&name, &layer, content.clone()).await.unwrap();
        let text = serde_json::json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": config, "layers": [layer]});
        crate::others::put_text(&client, &name, &text.to_string()).await;
        let pulled = pull(&client, &name).await.unwrap();
        assert_eq!((pulled.kind, std::fs::read(pulled.file.path()).unwrap()), (Kind::Module, content.to_vec()));
    }
}

#[tokio::test]
async fn missing_artifacts_are_reported() {
    let Some(registry) = Registry::open().await else { return };
    let client = registry.client();
    let error = pull(&client, &reference(&registry.host, "no/such:1")).await.unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("no/such:1"), "{error:?}");
    let tar = file(registry.dir.path(), "some.tar", b"tar");
    let name = reference(&registry.host, "there:1");
    push_bundle(&client, &name, &tar, &config(), BTreeMap::new()).await.unwrap();
    for missing in [name.with_tag("2").unwrap(), name.by_digest(Digest::of(b"x"))] {
        let error = pull(&client, &missing).await.unwrap_err();
        assert!(error.is_not_found() && error.hint().unwrap().contains("tag"), "{error:?}");
    }
}

#[tokio::test]
async fn encryption_and_passwords_are_those_that_were_set() {
    let Some(registry) = Registry::closed().await else { return };
    let tar = file(registry.dir.path(), "some.tar", &content());
    let name = reference(&registry.host, "team/check:1");
    push_bundle(&registry.client(), &name, &tar, &config(), BTreeMap::new()).await.unwrap();
    let pulled = pull(&registry.client(), &name).await.unwrap();
    assert_eq!(std::fs::read(pulled.file.path()).unwrap(), content());

    let stranger = Settings { credentials: CredentialFiles::default(), ..registry.settings() };
    let error = pull(&Client::new(stranger).unwrap(), &name).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Unauthorized { .. }), "{error:?}");
    assert!(error.cause.to_string().contains("none are configured"), "{error:?}");

    // `user:wrong`
    let text = format!(r#"{{"auths":{{"{}":{{"auth":"dXNlcjp3cm9uZw=="}}}}}}"#, registry.host);
    let path = file(registry.dir.path(), "wrong.json", text.as_bytes());
    let credentials = CredentialFiles { files: vec![path], ..CredentialFiles::default() };
    let error = pull(&Client::new(Settings { credentials, ..registry.settings() }).unwrap(), &name).await.unwrap_err();
    let message = error.cause.to_string();
    assert!(message.contains("user `user`") && message.contains("wrong.json"), "{message}");

    let untrusting = Settings { ca_files: Vec::new(), ..registry.settings() };
    let error = pull(&Client::new(untrusting).unwrap(), &name).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Tls(_)) && error.hint().unwrap().contains("--registry-ca"), "{error:?}");
    let plain = Settings { insecure: vec![registry.host.clone()], ..registry.settings() };
    let error = pull(&Client::new(plain).unwrap(), &name).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Status { status: 400, .. }), "{error:?}");
}

#[tokio::test]
async fn an_invalid_ca_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let name = reference("127.0.0.1:1", "n:1");
    for (content, expected) in
        [(&b"no certificate"[..], "no certificate"), (b"-----BEGIN CERTIFICATE-----\n!\n", "invalid CA file")]
    {
        let ca_files = vec![file(dir.path(), "ca.pem", content)];
        let settings = Settings { ca_files, insecure: Vec::new(), ..crate::settings("h") };
        let error = Client::new(settings).unwrap().manifest(&name).await.unwrap_err();
        assert!(error.cause.to_string().contains(expected) && error.is_usage(), "{error:?}");
    }
}

#[tokio::test]
async fn signatures_are_attached_and_found_under_the_tag() {
    let Some(registry) = Registry::open().await else { return };
    let tar = file(registry.dir.path(), "some.tar", b"tar");
    let (client, name) = (registry.client(), reference(&registry.host, "check:1"));
    let bundle = push_bundle(&client, &name, &tar, &config(), BTreeMap::new()).await.unwrap().manifest;
    assert!(client.referrers(&name, bundle, None).await.unwrap().is_empty());
    let envelope = |text: &'static str| bytes::Bytes::from_static(text.as_bytes());
    let first = client.attach(&name, bundle, media::DSSE, envelope("one"), Default::default()).await.unwrap();
    let second = client.attach(&name, bundle, media::DSSE, envelope("two"), Default::default()).await.unwrap();
    let note = client.attach(&name, bundle, "text/plain", envelope("note"), Default::default()).await.unwrap();
    // Attaching it again has no effect.
    assert_eq!(client.attach(&name, bundle, media::DSSE, envelope("one"), Default::default()).await.unwrap(), first);

    let digests = |found: Vec<Descriptor>| found.into_iter().map(|one| one.digest).collect::<Vec<_>>();
    assert_eq!(digests(client.referrers(&name, bundle, Some(media::DSSE)).await.unwrap()), [first, second]);
    assert_eq!(digests(client.referrers(&name, bundle, None).await.unwrap()), [first, second, note]);
    // This registry does not maintain the list itself, so the client has read the one under the
    // tag.
    let tagged = client.manifest(&name.with_tag(&format!("sha256-{}", bundle.hex())).unwrap()).await.unwrap();
    let Manifest::Index(index) = tagged.manifest else { panic!("no index") };
    assert_eq!(index.manifests.len(), 3);
    let Manifest::Image(image) = client.manifest(&name.by_digest(second)).await.unwrap().manifest else {
        panic!("no image")
    };
    let blob = client.blob(&name, &image.layers[0]).await.unwrap();
    assert_eq!(std::fs::read(blob.path()).unwrap(), b"two");
    assert_eq!(image.subject.unwrap().digest, bundle);
    let error =
        client.attach(&name, Digest::of(b"x"), media::DSSE, envelope("x"), Default::default()).await.unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
}

/// Variable that passes the registry to the child process of the test below.
const CHILD: &str = "PLUMBLINE_TEST_REGISTRY_OF_CHILD";

/// `SSL_CERT_FILE` affects a whole process, so the test runs in a child process.
#[tokio::test]
async fn the_systems_authorities_may_stand_in_another_file() {
    let Some(registry) = Registry::closed().await else { return };
    let tar = file(registry.dir.path(), "some.tar", b"tar");
    let name = reference(&registry.host, "there:1");
    push_bundle(&registry.client(), &name, &tar, &config(), BTreeMap::new()).await.unwrap();
    let succeeds = |authorities: &str| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "real::pulls_with_the_systems_authorities"]);
        child.env(CHILD, name.to_string()).env("SSL_CERT_FILE", registry.dir.path().join(authorities));
        child.env("REGISTRY_AUTH_FILE", registry.dir.path().join("auth.json"));
        child.output().unwrap().status.success()
    };
    assert!(succeeds("ca.pem"));
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    file(registry.dir.path(), "other.pem", other.cert.pem().as_bytes());
    assert!(!succeeds("other.pem"));
}

/// Runs only in the child process of the test above.
#[tokio::test]
async fn pulls_with_the_systems_authorities() {
    let Ok(name) = std::env::var(CHILD) else { return };
    let settings = Settings { proxies: false, ..Settings::from_environment(|name| std::env::var_os(name)) };
    pull(&Client::new(settings).unwrap(), &name.parse().unwrap()).await.unwrap();
}

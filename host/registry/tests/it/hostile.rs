//! Tests with malicious registries.

use std::time::Duration;

use plumbline_registry::{Cause, Client, Descriptor, Digest, Settings, media, pull};

use crate::double::{Double, answer, endless, silent};
use crate::{client, reference, settings};

fn manifest_text(layers: &[Descriptor]) -> String {
    let config = Descriptor::of(media::OCI_EMPTY, b"{}");
    serde_json::json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": config, "layers": layers})
        .to_string()
}

/// Returns the client's error for a manifest response.
async fn manifest(headers: &'static [(&'static str, &'static str)], body: impl Into<Vec<u8>>) -> Cause {
    let body: Vec<u8> = body.into();
    let server = Double::start(move |_, _, _| answer(200, headers, body.clone())).await;
    *client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err().cause
}

async fn blob(wanted: &Descriptor, body: &'static [u8]) -> Result<Vec<u8>, Cause> {
    let server = Double::start(move |_, _, _| answer(200, &[], body)).await;
    let found = client(&server.host).blob(&reference(&server.host, "n"), wanted).await;
    found.map(|blob| std::fs::read(blob.path()).unwrap()).map_err(|error| *error.cause)
}

#[tokio::test]
async fn a_manifest_without_end_is_cut_off() {
    let server = Double::start(|_, _, _| answer(200, &[], endless())).await;
    let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::TooLarge(_)), "{error:?}");
    let large = vec![b' '; 5 << 20];
    assert!(matches!(manifest(&[], large).await, Cause::TooLarge(_)));
}

#[tokio::test]
async fn a_manifest_that_never_comes_is_given_up() {
    let server = Double::start(|_, _, _| answer(200, &[], silent())).await;
    let mut settings = settings(&server.host);
    settings.patience.answer = Duration::from_millis(30);
    let error = Client::new(settings).unwrap().manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Slow(_)), "{error:?}");
}

#[tokio::test]
async fn another_manifest_than_was_asked_for_is_refused() {
    let server = Double::start(|_, _, _| answer(200, &[], manifest_text(&[]))).await;
    let wanted = Digest::of(b"something else");
    let asked = reference(&server.host, "n:1").with_digest(wanted);
    let error = client(&server.host).manifest(&asked).await.unwrap_err();
    let message = error.cause.to_string();
    let got = Digest::of(manifest_text(&[]).as_bytes());
    assert!(message.contains(&wanted.to_string()) && message.contains(&got.to_string()), "{message}");
    assert!(error.to_string().contains(&asked.to_string()));

    const OTHER: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let cause = manifest(&[("docker-content-digest", OTHER)], manifest_text(&[])).await;
    assert!(matches!(cause, Cause::Mismatch { .. }), "{cause}");
    let cause = manifest(&[("docker-content-digest", "sha256:../../x")], manifest_text(&[])).await;
    assert!(matches!(cause, Cause::Digest(_)), "{cause}");
}

#[tokio::test]
async fn an_invalid_manifest_is_rejected_with_the_reason() {
    let cause = manifest(&[("content-type", media::OCI_INDEX)], manifest_text(&[])).await.to_string();
    assert!(cause.contains("but its `mediaType` is"), "{cause}");
    let cause = manifest(&[("content-type", "text/html")], "<html>log in</html>").await.to_string();
    assert!(cause.contains("not a manifest"), "{cause}");
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let cause = manifest(&[], deep).await.to_string();
    assert!(cause.contains("recursion"), "{cause}");
    let cause = manifest(&[("content-type", "application/vnd.docker.distribution.manifest.v1+prettyjws")], "{}").await;
    assert!(matches!(cause, Cause::Kind(_)), "{cause}");
}

#[tokio::test]
async fn a_blob_is_what_was_promised_or_nothing() {
    let wanted = Descriptor::of(media::WASM, b"0123456789");
    assert_eq!(blob(&wanted, b"0123456789").await.unwrap(), b"0123456789");
    assert!(matches!(blob(&wanted, b"012345678").await, Err(Cause::Size { said: 10, got: 9, more: false })));
    assert!(matches!(blob(&wanted, b"0123456789A").await, Err(Cause::Size { said: 10, more: true, .. })));
    let message = blob(&wanted, b"987654321X").await.unwrap_err().to_string();
    assert!(
        message.contains(&wanted.digest.to_string()) && message.contains(&Digest::of(b"987654321X").to_string()),
        "{message}"
    );
}

#[tokio::test]
async fn a_blob_without_end_is_cut_off() {
    let server = Double::start(|_, _, _| answer(200, &[], endless())).await;
    let wanted = Descriptor::new(media::WASM, Digest::of(b"x"), 100_000);
    let error = client(&server.host).blob(&reference(&server.host, "n"), &wanted).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Size { said: 100_000, more: true, .. }), "{error:?}");
}

#[tokio::test]
async fn a_promise_that_is_too_large_is_not_even_tried() {
    let server = Double::start(|_, _, _| answer(200, &[], "x")).await;
    let client = Client::new(Settings { largest_blob: 1000, ..settings(&server.host) }).unwrap();
    let wanted = Descriptor::new(media::WASM, Digest::of(b"x"), u64::MAX);
    let error = client.blob(&reference(&server.host, "n"), &wanted).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::TooLarge(1000)), "{error:?}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn messages_of_a_registry_are_shortened_and_sanitized() {
    let body = format!(r#"{{"errors":[{{"code":"DENIED","message":"no\u001b[31m{}"}}]}}"#, "x".repeat(10_000));
    let server = Double::start(move |_, _, _| answer(403, &[], body.clone())).await;
    let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    let message = error.cause.to_string();
    assert!(
        matches!(*error.cause, Cause::Denied(_)) && message.len() < 500 && !message.contains('\u{1b}'),
        "{message}"
    );
    let server = Double::start(|_, _, _| answer(404, &[], endless())).await;
    let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(error.is_not_found() && error.is_usage(), "{error:?}");
}

#[tokio::test]
async fn container_images_and_other_artifacts_are_not_plugins() {
    let layer = |kind: &str| Descriptor::of(kind, b"x");
    let cases = [
        (vec![layer("application/vnd.oci.image.layer.v1.tar+gzip")], "neither a bundle nor a WebAssembly file"),
        (vec![], "its layers are none"),
        (vec![layer(media::WASM), layer("text/plain")], "2 layers"),
        (vec![layer(media::BUNDLE_TAR), layer(media::WASM)], "2 layers"),
    ];
    for (layers, expected) in cases {
        let text = manifest_text(&layers);
        let server =
            Double::start(move |_, _, _| answer(200, &[("content-type", media::OCI_MANIFEST)], text.clone())).await;
        let error = pull(&client(&server.host), &reference(&server.host, "n:1")).await.unwrap_err();
        assert!(error.cause.to_string().contains(expected) && error.is_usage(), "{error:?}");
    }
}

#[tokio::test]
async fn an_index_that_names_itself_ends() {
    // An index cannot contain its own digest, but a server can generate an endless chain of
    // indexes.
    fn index(depth: usize) -> (String, Descriptor) {
        let text = match depth {
            0 => manifest_text(&[]),
            _ => serde_json::json!({"schemaVersion": 2, "mediaType": media::OCI_INDEX, "manifests": [index(depth - 1).1]}).to_string(),
        };
        let kind = if depth == 0 { media::OCI_MANIFEST } else { media::OCI_INDEX };
        let descriptor = Descriptor::of(kind, text.as_bytes());
        (text, descriptor)
    }
    let server = Double::start(|seen, _, _| {
        let found = (0..20).map(index).find(|(_, descriptor)| seen.path.ends_with(&descriptor.digest.to_string()));
        answer(200, &[], found.unwrap_or_else(|| index(20)).0)
    })
    .await;
    let error = pull(&client(&server.host), &reference(&server.host, "n:1")).await.unwrap_err();
    assert!(error.cause.to_string().contains("deep"), "{error:?}");
    assert!(server.seen().len() < 10);
}

//! Tests that references by digest are downloaded only once.

use plumbline_registry::{Cause, Client, Descriptor, Digest, Settings, media, pull};
use serde_json::json;

use crate::double::{Double, answer};
use crate::{reference, settings};

const TAR: &[u8] = b"the bundle";
const CONFIG: &[u8] = b"{}";

/// Returns the manifest of a bundle with these blobs.
fn manifest() -> String {
    let of = |kind: &str, bytes: &[u8]| {
        let it = Descriptor::of(kind, bytes);
        json!({"mediaType": it.media_type, "digest": it.digest.to_string(), "size": it.size})
    };
    json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": of("application/x+json", CONFIG),
        "layers": [of(media::BUNDLE_TAR, TAR)]})
    .to_string()
}

async fn registry() -> Double {
    Double::start(|seen, _, _| {
        let path = seen.path.strip_prefix("/v2/n/");
        let blob = |bytes: &'static [u8]| Some(format!("blobs/{}", Digest::of(bytes))) == path.map(str::to_owned);
        match path {
            Some(path) if path.starts_with("manifests/") => {
                answer(200, &[("content-type", media::OCI_MANIFEST)], manifest())
            }
            Some(_) if blob(TAR) => answer(200, &[], TAR),
            Some(_) if blob(CONFIG) => answer(200, &[], CONFIG),
            _ => answer(404, &[], ""),
        }
    })
    .await
}

fn asked(server: &Double) -> Vec<String> {
    let short = |path: String| path.split('/').skip(3).take(1).collect::<String>();
    server.seen().into_iter().map(|seen| short(seen.path)).collect()
}

#[tokio::test]
async fn by_digest_the_registry_is_not_asked_again_and_by_tag_for_the_digest_only() {
    let server = registry().await;
    let dir = tempfile::tempdir().unwrap();
    let client = Client::new(Settings { downloads: Some(dir.path().join("kept")), ..settings(&server.host) }).unwrap();
    let exact = format!("n@{}", Digest::of(manifest().as_bytes()));
    let read = |pulled: plumbline_registry::Pulled| std::fs::read(pulled.file.path()).unwrap();
    assert_eq!(read(pull(&client, &reference(&server.host, &exact)).await.unwrap()), TAR);
    assert_eq!(asked(&server), ["manifests", "blobs", "blobs"]);
    assert_eq!(read(pull(&client, &reference(&server.host, &exact)).await.unwrap()), TAR);
    assert_eq!(asked(&server).len(), 3, "nothing more");
    assert_eq!(read(pull(&client, &reference(&server.host, "n:1")).await.unwrap()), TAR);
    assert_eq!(asked(&server)[3..], ["manifests"]);
    // The cache of one repository is not used for another.
    let error = pull(&client, &reference(&server.host, &exact.replacen('n', "m", 1))).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::NotFound(_)), "{error:?}");
}

#[tokio::test]
async fn a_damaged_download_is_repeated() {
    let server = registry().await;
    let dir = tempfile::tempdir().unwrap();
    let client = Client::new(Settings { downloads: Some(dir.path().to_owned()), ..settings(&server.host) }).unwrap();
    let exact = reference(&server.host, &format!("n@{}", Digest::of(manifest().as_bytes())));
    pull(&client, &exact).await.unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), "changed").unwrap();
    }
    let pulled = pull(&client, &exact).await.unwrap();
    assert_eq!(std::fs::read(pulled.file.path()).unwrap(), TAR);
    assert_eq!(asked(&server).len(), 6);
    pull(&client, &exact).await.unwrap();
    assert_eq!(asked(&server).len(), 6);
}

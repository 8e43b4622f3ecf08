use serde_json::json;

use super::*;

fn descriptor(kind: &str) -> Value {
    json!({"mediaType": kind, "digest": Digest::of(b"").to_string(), "size": 0})
}

fn parse(value: &Value, said: Option<&str>) -> Result<RawManifest, Cause> {
    RawManifest::parse(serde_json::to_vec(value).unwrap().into(), said)
}

fn image() -> Value {
    json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": descriptor(media::WASM_CONFIG), "layers": [descriptor(media::WASM)]})
}

#[test]
fn the_kind_is_what_the_document_and_the_server_agree_on() {
    let read = parse(&image(), Some("application/vnd.oci.image.manifest.v1+json; charset=utf-8")).unwrap();
    assert_eq!(read.media_type, media::OCI_MANIFEST);
    assert_eq!(read.descriptor().artifact_type.as_deref(), Some(media::WASM_CONFIG));
    let mut silent = image();
    silent.as_object_mut().unwrap().remove("mediaType");
    assert_eq!(parse(&silent, Some(media::DOCKER_MANIFEST)).unwrap().media_type, media::DOCKER_MANIFEST);
    assert_eq!(parse(&silent, Some("application/json")).unwrap().media_type, media::OCI_MANIFEST);
    let message = parse(&image(), Some(media::OCI_INDEX)).unwrap_err().to_string();
    assert!(message.contains("it was sent as") && message.contains("but its `mediaType` is"), "{message}");
}

#[test]
fn a_document_of_two_kinds_is_rejected() {
    let mut both = image();
    both["manifests"] = json!([]);
    assert!(parse(&both, None).unwrap_err().to_string().contains("of a manifest and of an index"));
}

#[test]
fn an_invalid_manifest_is_rejected_with_the_cause() {
    for (bytes, expected) in [
        (&b"<html>"[..], "not a manifest"),
        (b"[]", "not a manifest"),
        (b"{}", "missing field"),
        (br#"{"schemaVersion":1}"#, "not a manifest"),
        (br#"{"schemaVersion":2,"mediaType":"text/html"}"#, "`text/html`"),
        (br#"{"schemaVersion":2,"manifests":[{"mediaType":"x","digest":"sha256:00","size":1}]}"#, "invalid digest"),
        (br#"{"schemaVersion":2,"manifests":[{"mediaType":"x","digest":"x","size":-1}]}"#, "not a manifest"),
    ] {
        let message = RawManifest::parse(Bytes::from_static(bytes), None).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let message = RawManifest::parse(deep.into(), None).unwrap_err().to_string();
    assert!(message.contains("recursion"), "{message}");
    let large = vec![b' '; usize::try_from(MAX_MANIFEST_BYTES).unwrap() + 1];
    assert!(matches!(RawManifest::parse(large.into(), None), Err(Cause::TooLarge(_))));
    let mut many = image();
    many["layers"] = (0..=MAX_LAYERS).map(|_| descriptor(media::WASM)).collect();
    assert!(parse(&many, None).unwrap_err().to_string().contains("layers"));
}

#[test]
fn unknown_fields_of_an_index_are_kept() {
    let index = json!({
        "schemaVersion": 2, "mediaType": media::OCI_INDEX, "annotations": {"a": "b"},
        "manifests": [{"mediaType": media::OCI_MANIFEST, "digest": Digest::of(b"").to_string(), "size": 0, "platform": {"os": "linux"}}],
    });
    let Manifest::Index(read) = parse(&index, None).unwrap().manifest else { panic!("no index") };
    assert_eq!(serde_json::to_value(&read).unwrap(), index);
    let null = json!({"schemaVersion": 2, "mediaType": media::OCI_INDEX, "manifests": null});
    assert!(parse(&null, None).is_ok());
}

//! Tests of referrers, with registries that maintain the list and others that do not.

use plumbline_registry::{Descriptor, Digest, Index, media};
use serde_json::json;

use crate::double::{Double, answer};
use crate::{client, reference};

fn entry(content: &[u8], kind: Option<&str>) -> Descriptor {
    Descriptor { artifact_type: kind.map(str::to_owned), ..Descriptor::of(media::OCI_MANIFEST, content) }
}

fn index(entries: &[Descriptor]) -> String {
    json!({"schemaVersion": 2, "mediaType": media::OCI_INDEX, "manifests": entries}).to_string()
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_filtered() {
    let server = Double::start(|seen, _, _| {
        if seen.path.contains("page=2") {
            return answer(200, &[], index(&[entry(b"b", Some("k")), entry(b"c", Some("other"))]));
        }
        let link = format!("<{}&page=2>; rel=\"next\"", seen.path);
        answer(200, &[("link", &link)], index(&[entry(b"a", Some("k")), entry(b"d", None)]))
    })
    .await;
    let found =
        client(&server.host).referrers(&reference(&server.host, "n"), Digest::of(b"x"), Some("k")).await.unwrap();
    assert_eq!(found.iter().map(|one| one.digest).collect::<Vec<_>>(), [Digest::of(b"a"), Digest::of(b"b")]);
    assert!(server.seen()[0].path.ends_with(&format!("/referrers/{}?artifactType=k", Digest::of(b"x"))));
}

#[tokio::test]
async fn lists_without_end_and_lists_elsewhere_are_refused() {
    let other = Double::start(|_, _, _| answer(200, &[], index(&[]))).await;
    for (link, expected) in
        [("</x>; rel=\"next\"".to_owned(), "pages"), (format!("<http://{}/>; rel=next", other.host), "another host")]
    {
        let server = Double::start(move |_, _, _| answer(200, &[("link", &link)], index(&[]))).await;
        let error =
            client(&server.host).referrers(&reference(&server.host, "n"), Digest::of(b"x"), None).await.unwrap_err();
        assert!(error.cause.to_string().contains(expected), "{error:?}");
    }
    assert!(other.seen().is_empty());
    let many: Vec<_> = (0..3000_u32).map(|at| entry(&at.to_le_bytes(), None)).collect();
    let server = Double::start(move |_, _, _| answer(200, &[("link", "</x>; rel=\"next\"")], index(&many))).await;
    let error =
        client(&server.host).referrers(&reference(&server.host, "n"), Digest::of(b"x"), None).await.unwrap_err();
    assert!(error.cause.to_string().contains("more than"), "{error:?}");
}

#[tokio::test]
async fn a_registry_without_the_interface_has_a_list_under_a_tag() {
    let tag = format!("/manifests/sha256-{}", Digest::of(b"x").hex());
    let server = Double::start(move |seen, _, _| match seen.path.ends_with(&tag) {
        true => answer(200, &[], index(&[entry(b"a", Some("k"))])),
        false => answer(404, &[], ""),
    })
    .await;
    let found =
        client(&server.host).referrers(&reference(&server.host, "n"), Digest::of(b"x"), Some("k")).await.unwrap();
    assert_eq!(found.len(), 1);
    let none = client(&server.host).referrers(&reference(&server.host, "n"), Digest::of(b"y"), None).await.unwrap();
    assert!(none.is_empty());
}

#[tokio::test]
async fn a_tag_that_is_used_for_something_else_is_not_overwritten() {
    let image = json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": entry(b"", None)}).to_string();
    let digest = Digest::of(image.as_bytes());
    let server = Double::start(move |seen, _, _| match seen.method.as_str() {
        "GET" => answer(200, &[], image.clone()),
        "HEAD" => answer(200, &[], ""),
        _ => answer(201, &[], ""),
    })
    .await;
    let content = bytes::Bytes::from_static(b"signature");
    let error = client(&server.host)
        .attach(&reference(&server.host, "n"), digest, media::DSSE, content, Default::default())
        .await
        .unwrap_err();
    assert!(error.cause.to_string().contains("it is used for something else"), "{error:?}");
    assert!(server.seen().iter().all(|seen| seen.method != "PUT" || !seen.path.contains("manifests/sha256-")));
}

#[tokio::test]
async fn where_the_registry_keeps_the_list_no_tag_is_written() {
    let subject = index(&[]);
    let digest = Digest::of(subject.as_bytes());
    let server = Double::start(move |seen, _, _| match seen.method.as_str() {
        "GET" => answer(200, &[], subject.clone()),
        "HEAD" => answer(200, &[], ""),
        _ => answer(201, &[("oci-subject", "sha256:x")], ""),
    })
    .await;
    let content = bytes::Bytes::from_static(b"signature");
    client(&server.host)
        .attach(&reference(&server.host, "n"), digest, media::DSSE, content, Default::default())
        .await
        .unwrap();
    let puts: Vec<_> = server.seen().into_iter().filter(|seen| seen.method == "PUT").collect();
    assert_eq!(puts.len(), 1);
    let written: serde_json::Value = serde_json::from_slice(&puts[0].body).unwrap();
    assert_eq!(written["subject"]["digest"], digest.to_string());
    assert_eq!(written["artifactType"], media::DSSE);
    assert_eq!(serde_json::from_str::<Index>(&index(&[])).unwrap().manifests.len(), 0);
}

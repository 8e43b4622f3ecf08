//! Tests of lists of tags.

use crate::double::{Double, answer};
use crate::{client, reference};

fn tags(tags: &[String]) -> String {
    serde_json::json!({"name": "n", "tags": tags}).to_string()
}

#[tokio::test]
async fn tags_are_read_page_by_page() {
    let server = Double::start(|seen, _, _| {
        if seen.path.contains("last=b") {
            return answer(200, &[], tags(&["c".to_owned()]));
        }
        answer(200, &[("link", "</v2/n/tags/list?n=2&last=b>; rel=\"next\"")], tags(&["a".to_owned(), "b".to_owned()]))
    })
    .await;
    let found = client(&server.host).tags(&reference(&server.host, "n"), 3).await.unwrap();
    assert_eq!(found, ["a", "b", "c"]);
    let error = client(&server.host).tags(&reference(&server.host, "n"), 2).await.unwrap_err();
    assert!(error.cause.to_string().contains("more than 2 tags"), "{error:?}");
}

#[tokio::test]
async fn lists_of_tags_without_end_elsewhere_or_of_another_form_are_refused() {
    for (link, body, expected) in [
        ("</v2/n/tags/list?last=a>; rel=\"next\"", tags(&[]), "pages"),
        ("<http://example.org/>; rel=next", tags(&[]), "another host"),
        ("", "[]".to_owned(), "the list of tags is invalid"),
        ("", tags(&["../x".to_owned()]), "invalid tag"),
    ] {
        let server = Double::start(move |_, _, _| answer(200, &[("link", link)], body.clone())).await;
        let error = client(&server.host).tags(&reference(&server.host, "n"), 9).await.unwrap_err();
        assert!(error.cause.to_string().contains(expected), "{error:?}");
    }
    let empty = Double::start(|_, _, _| answer(200, &[], r#"{"name": "n", "tags": null}"#)).await;
    assert!(client(&empty.host).tags(&reference(&empty.host, "n"), 9).await.unwrap().is_empty());
}

//! Tests of redirects, and of the credentials that are sent along.

use plumbline_registry::{Cause, Client, Descriptor, Settings, media};

use crate::double::{Double, Seen, answer};
use crate::{BASIC, login, reference, settings};

fn wanted() -> Descriptor {
    Descriptor::of(media::WASM, b"content")
}

/// Requires a password, and then redirects to `to`.
fn sends(to: String) -> impl Fn(&Seen, &str, usize) -> axum::response::Response + Clone {
    move |seen, _, _| match &seen.authorization {
        None => answer(401, &[("www-authenticate", "Basic realm=x")], ""),
        Some(_) => answer(307, &[("location", &to)], ""),
    }
}

async fn outcome(to: &str) -> Cause {
    let dir = tempfile::tempdir().unwrap();
    let server = Double::start(sends(to.to_owned())).await;
    let credentials = login(dir.path(), &[&server.host]);
    let client = Client::new(Settings { credentials, ..settings(&server.host) }).unwrap();
    *client.blob(&reference(&server.host, "n"), &wanted()).await.unwrap_err().cause
}

#[tokio::test]
async fn credentials_do_not_go_to_another_host() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Double::start(|_, _, _| answer(200, &[], "content")).await;
    let server = Double::start(sends(format!("http://{}/bucket/x?signature=s", storage.host))).await;
    // Credentials for the other host exist, but it did not ask for them.
    let credentials = login(dir.path(), &[&server.host, &storage.host]);
    let mut settings = Settings { credentials, ..settings(&server.host) };
    settings.insecure.push(storage.host.clone());
    let client = Client::new(settings).unwrap();
    let blob = client.blob(&reference(&server.host, "n"), &wanted()).await.unwrap();
    assert_eq!(std::fs::read(blob.path()).unwrap(), b"content");
    assert_eq!(server.seen().last().unwrap().authorization.as_deref(), Some(BASIC));
    let there = storage.seen();
    assert_eq!((there.len(), there[0].path.as_str()), (1, "/bucket/x?signature=s"));
    assert_eq!(there[0].authorization, None);
}

#[tokio::test]
async fn no_password_is_sent_after_a_redirect() {
    let dir = tempfile::tempdir().unwrap();
    let thief = Double::start(|_, _, _| answer(401, &[("www-authenticate", "Basic realm=x")], "")).await;
    let server = Double::start(sends(format!("http://{}/", thief.host))).await;
    let credentials = login(dir.path(), &[&server.host, &thief.host]);
    let mut settings = Settings { credentials, ..settings(&server.host) };
    settings.insecure.push(thief.host.clone());
    let error = Client::new(settings).unwrap().blob(&reference(&server.host, "n"), &wanted()).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Status { status: 401, .. }), "{error:?}");
    assert!(thief.seen().iter().all(|seen| seen.authorization.is_none()));
}

#[tokio::test]
async fn nothing_is_sent_over_plain_http() {
    let open = Double::start(|_, _, _| answer(200, &[], "content")).await;
    let cause = outcome(&format!("http://{}/x?secret", open.host)).await;
    let message = cause.to_string();
    assert!(
        matches!(cause, Cause::Redirect { .. }) && message.contains(&open.host) && !message.contains("secret"),
        "{message}"
    );
    assert!(open.seen().is_empty());
    for to in ["file:///etc/passwd", "ftp://h/x"] {
        assert!(matches!(outcome(to).await, Cause::Redirect { .. }), "{to}");
    }
    assert!(outcome("").await.to_string().contains("too many redirects"));
    assert!(outcome("http://[").await.to_string().contains("without a valid `Location` header"));
}

#[tokio::test]
async fn an_upload_elsewhere_takes_no_credentials_along() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Double::start(|_, _, _| answer(201, &[], "")).await;
    let to = format!("http://{}/upload", storage.host);
    let server = Double::start(move |seen, _, _| match (&seen.authorization, seen.method.as_str()) {
        (None, _) => answer(401, &[("www-authenticate", "Basic realm=x")], ""),
        (_, "HEAD") => answer(404, &[], ""),
        _ => answer(202, &[("location", &to)], ""),
    })
    .await;
    let credentials = login(dir.path(), &[&server.host]);
    let mut settings = Settings { credentials, ..settings(&server.host) };
    let repository = reference(&server.host, "n");
    let content = bytes::Bytes::from_static(b"content");
    let error =
        Client::new(settings.clone()).unwrap().push_bytes(&repository, &wanted(), content.clone()).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Redirect { .. }), "{error:?}");
    settings.insecure.push(storage.host.clone());
    assert!(Client::new(settings).unwrap().push_bytes(&repository, &wanted(), content).await.unwrap());
    let there = storage.seen();
    assert_eq!((there.len(), there[0].body.as_slice(), &there[0].authorization), (1, &b"content"[..], &None));
}

#[tokio::test]
async fn hosts_that_are_not_named_are_spoken_to_with_encryption_only() {
    let server = Double::start(|_, _, _| answer(200, &[], "{}")).await;
    let client = Client::new(Settings { insecure: Vec::new(), ..settings(&server.host) }).unwrap();
    let error = client.manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Tls(_) | Cause::Connection(_)), "{error:?}");
    assert!(server.seen().is_empty());
}

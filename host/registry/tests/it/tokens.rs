//! Tests of bearer tokens, which most public registries use.

use plumbline_registry::{Cause, Client, CredentialFiles, Descriptor, Settings, media};

use crate::double::{Double, Seen, answer, endless};
use crate::{BASIC, client, file, login, reference, settings};

const MANIFEST: &str = r#"{"schemaVersion":2,"manifests":[]}"#;

/// Issues the token `t` at `/token`, and accepts only that token.
fn registry(seen: &Seen, host: &str, _: usize) -> axum::response::Response {
    if seen.path.starts_with("/token") {
        return answer(200, &[], r#"{"access_token":"t"}"#);
    }
    match seen.authorization.as_deref() {
        Some("Bearer t") if seen.method == "HEAD" => answer(200, &[], ""),
        Some("Bearer t") => answer(200, &[], MANIFEST),
        _ => {
            let challenge =
                format!(r#"Bearer realm="http://{host}/token",service="the service",scope="repository:x:*""#);
            answer(401, &[("www-authenticate", &challenge)], "")
        }
    }
}

#[tokio::test]
async fn a_token_is_got_once_for_what_is_needed_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let server = Double::start(registry).await;
    let credentials = login(dir.path(), &[&server.host]);
    let client = Client::new(Settings { credentials, ..settings(&server.host) }).unwrap();
    let name = reference(&server.host, "team/n:1");
    client.manifest(&name).await.unwrap();
    client.manifest(&name).await.unwrap();
    client.has_blob(&name, &Descriptor::of(media::WASM, b"")).await.unwrap();
    let tokens: Vec<_> = server.seen().into_iter().filter(|seen| seen.path.starts_with("/token")).collect();
    assert_eq!(tokens.len(), 2);
    assert!(tokens.iter().all(|seen| seen.authorization.as_deref() == Some(BASIC)));
    assert!(tokens[0].path.contains("service=the+service&scope=repository%3Ateam%2Fn%3Apull&"), "{}", tokens[0].path);
    assert!(tokens[1].path.contains("scope=repository%3Ateam%2Fn%3Apull%2Cpush"), "{}", tokens[1].path);
    assert_eq!(server.seen().len(), 7);
}

#[tokio::test]
async fn strangers_get_a_token_without_a_password() {
    let server = Double::start(registry).await;
    client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap();
    assert!(server.seen().iter().all(|seen| seen.authorization.as_deref().is_none_or(|shown| shown == "Bearer t")));
}

#[tokio::test]
async fn an_identity_token_is_exchanged() {
    let dir = tempfile::tempdir().unwrap();
    let server = Double::start(registry).await;
    let text = format!(r#"{{"auths":{{"{}":{{"identitytoken":"secret&x"}}}}}}"#, server.host);
    let credentials =
        CredentialFiles { files: vec![file(dir.path(), "c.json", text.as_bytes())], ..CredentialFiles::default() };
    let client = Client::new(Settings { credentials, ..settings(&server.host) }).unwrap();
    client.manifest(&reference(&server.host, "n:1")).await.unwrap();
    let token = server.seen().into_iter().find(|seen| seen.path == "/token").unwrap();
    let body = String::from_utf8(token.body).unwrap();
    assert_eq!(token.method, "POST");
    assert!(body.contains("grant_type=refresh_token") && body.ends_with("refresh_token=secret%26x"), "{body}");
}

#[tokio::test]
async fn a_password_does_not_go_to_a_token_server_without_encryption() {
    let dir = tempfile::tempdir().unwrap();
    let thief = Double::start(|_, _, _| answer(200, &[], r#"{"token":"t"}"#)).await;
    let challenge = format!(r#"Bearer realm="http://{}/""#, thief.host);
    let server = Double::start(move |_, _, _| answer(401, &[("www-authenticate", &challenge)], "")).await;
    let credentials = login(dir.path(), &[&server.host]);
    let client = Client::new(Settings { credentials, ..settings(&server.host) }).unwrap();
    let error = client.manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Redirect { .. }), "{error:?}");
    assert!(thief.seen().is_empty());
}

/// Starts a registry whose token server is at `host`, and returns it with the client's settings for
/// both.
async fn elsewhere(host: &str) -> (Double, Settings) {
    let challenge = format!(r#"Bearer realm="http://{host}/token",service="s""#);
    let server = Double::start(move |seen, _, _| match seen.authorization.as_deref() {
        Some("Bearer t") => answer(200, &[], MANIFEST),
        _ => answer(401, &[("www-authenticate", &challenge)], ""),
    })
    .await;
    let mut settings = settings(&server.host);
    settings.insecure.push(host.to_owned());
    (server, settings)
}

#[tokio::test]
async fn credentials_do_not_go_to_a_token_server_that_only_the_registry_names() {
    let dir = tempfile::tempdir().unwrap();
    let thief = Double::start(|_, _, _| answer(200, &[], r#"{"token":"t"}"#)).await;
    let (server, of_both) = elsewhere(&thief.host).await;
    let identity = format!(r#"{{"auths":{{"{}":{{"identitytoken":"secret"}}}}}}"#, server.host);
    let identity = file(dir.path(), "c.json", identity.as_bytes());
    let kinds =
        [login(dir.path(), &[&server.host]), CredentialFiles { files: vec![identity], ..CredentialFiles::default() }];
    for credentials in kinds {
        let client = Client::new(Settings { credentials, ..of_both.clone() }).unwrap();
        let error = client.manifest(&reference(&server.host, "n:1")).await.unwrap_err();
        assert!(matches!(&*error.cause, Cause::TokenServer { host, .. } if *host == thief.host), "{error:?}");
        let wanted = format!("--registry-token-server {}={}", server.host, thief.host);
        assert!(error.hint().unwrap().contains(&wanted), "{:?}", error.hint());
        assert!(thief.seen().is_empty());
    }
}

#[tokio::test]
async fn credentials_go_to_a_token_server_that_the_user_names() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Double::start(|_, _, _| answer(200, &[], r#"{"token":"t"}"#)).await;
    let (server, settings) = elsewhere(&tokens.host).await;
    let credentials = login(dir.path(), &[&server.host]);
    let token_servers = vec![format!("{}={}", server.host, tokens.host)];
    let client = Client::new(Settings { credentials, token_servers, ..settings }).unwrap();
    client.manifest(&reference(&server.host, "n:1")).await.unwrap();
    assert_eq!(tokens.seen()[0].authorization.as_deref(), Some(BASIC));
}

#[tokio::test]
async fn a_token_server_elsewhere_serves_strangers() {
    let tokens = Double::start(|_, _, _| answer(200, &[], r#"{"token":"t"}"#)).await;
    let (server, settings) = elsewhere(&tokens.host).await;
    let client = Client::new(settings).unwrap();
    client.manifest(&reference(&server.host, "n:1")).await.unwrap();
    assert!(tokens.seen().iter().all(|seen| seen.authorization.is_none()));
}

#[tokio::test]
async fn token_servers_that_answer_rubbish_are_named() {
    for (status, body, expected) in [
        (200, "", "invalid response"),
        (200, "{}", "sent no token"),
        (200, r#"{"token":"a\nb"}"#, "characters"),
        (200, r#"{"token":["a"]}"#, "invalid response"),
        (401, r#"{"details":"who are you"}"#, "who are you"),
    ] {
        let server = Double::start(move |seen, host, _| match seen.path.starts_with("/token") {
            true => answer(status, &[], body),
            false => answer(401, &[("www-authenticate", &format!("Bearer realm=http://{host}/token"))], ""),
        })
        .await;
        let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
        assert!(error.cause.to_string().contains(expected), "{body}: {error:?}");
    }
    let server = Double::start(|seen, host, _| match seen.path.starts_with("/token") {
        true => answer(200, &[], endless()),
        false => answer(401, &[("www-authenticate", &format!("Bearer realm=http://{host}/token"))], ""),
    })
    .await;
    let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::TooLarge(_)), "{error:?}");
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_renewed_once_and_then_named() {
    let server = Double::start(|seen, host, _| match seen.path.starts_with("/token") {
        true => answer(200, &[], r#"{"token":"t"}"#),
        false => {
            let challenge = format!("Bearer realm=http://{host}/token");
            answer(401, &[("www-authenticate", &challenge)], r#"{"errors":[{"message":"go away"}]}"#)
        }
    })
    .await;
    let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    let message = error.cause.to_string();
    assert!(message.contains("none are configured for it") && message.contains("go away"), "{message}");
    assert!(error.hint().unwrap().contains("login"));
    assert_eq!(server.seen().len(), 3);
}

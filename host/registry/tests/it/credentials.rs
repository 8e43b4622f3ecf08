//! Tests of credential helpers with scripts.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use plumbline_registry::{Cause, Client, CredentialFiles, Settings};

use crate::double::{Double, answer};
use crate::{BASIC, file, reference, settings};

/// Writes a script as `docker-credential-test`, and a file that configures it for all registries or
/// for one.
fn helper(dir: &Path, script: &str, config: &str) -> CredentialFiles {
    let program = file(dir, "docker-credential-test", format!("#!/bin/sh\n{script}\n").as_bytes());
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.display());
    CredentialFiles { files: vec![file(dir, "config.json", config.as_bytes())], helper_path: Some(path.into()) }
}

async fn server() -> Double {
    Double::start(|seen, _, _| match seen.authorization.as_deref() {
        Some(BASIC) => answer(200, &[], r#"{"schemaVersion":2,"manifests":[]}"#),
        _ => answer(401, &[("www-authenticate", "Basic realm=x")], ""),
    })
    .await
}

async fn outcome(script: &str, config: impl Fn(&str) -> String) -> Result<usize, Cause> {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    let credentials = helper(dir.path(), script, &config(&server.host));
    let client = Client::new(Settings { credentials, ..settings(&server.host) }).unwrap();
    client.manifest(&reference(&server.host, "n:1")).await.map_err(|error| *error.cause)?;
    // Credentials are cached: a second request does not call the helper again.
    client.manifest(&reference(&server.host, "n:1")).await.map_err(|error| *error.cause)?;
    Ok(server.seen().len())
}

const STORE: &str = r#"{"credsStore":"test"}"#;

#[tokio::test]
async fn a_helper_is_asked_for_the_registry_by_its_name() {
    let script = r#"read host; [ "$1" = get ] && case "$host" in 127.0.0.1:*) echo '{"ServerURL":"x","Username":"user","Secret":"secret"}';; *) exit 1;; esac"#;
    assert_eq!(outcome(script, |_| STORE.into()).await.unwrap(), 3);
    assert_eq!(
        outcome(script, |host| format!(r#"{{"credHelpers":{{"{host}":"test"}},"credsStore":"not-there"}}"#))
            .await
            .unwrap(),
        3
    );
    // The file that Docker writes after a login with a helper.
    assert_eq!(
        outcome(script, |host| format!(r#"{{"auths":{{"{host}":{{}}}},"credsStore":"test"}}"#)).await.unwrap(),
        3
    );
}

#[tokio::test]
async fn a_helper_that_has_nothing_leads_on() {
    let script = "cat >/dev/null; echo 'credentials not found in native keychain'; exit 1";
    let message = outcome(script, |_| STORE.into()).await.unwrap_err().to_string();
    assert!(message.contains("none are configured for it"), "{message}");
}

#[tokio::test]
async fn a_helper_that_fails_is_an_error_and_not_a_stranger() {
    for (script, expected) in [
        ("echo 'the vault is locked' >&2; exit 3", "the vault is locked"),
        ("echo not json", "an invalid response"),
        ("yes | head -c 200000", "more than"),
        ("kill -9 $$", "signal"),
    ] {
        let cause = outcome(script, |_| STORE.into()).await.unwrap_err();
        let message = cause.to_string();
        assert!(matches!(cause, Cause::Credentials(_)), "{message}");
        assert!(
            message.contains(expected) && message.contains("docker-credential-test") && message.contains("config.json"),
            "{message}"
        );
    }
    let cause = outcome("", |_| r#"{"credsStore":"not-there"}"#.into()).await.unwrap_err();
    assert!(cause.to_string().contains("failed to start it"), "{cause}");
}

#[tokio::test]
async fn wrong_credentials_are_named_without_their_secret() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    // `user:other`
    let text = format!(r#"{{"auths":{{"{}":{{"auth":"dXNlcjpvdGhlcg=="}}}}}}"#, server.host);
    let credentials =
        CredentialFiles { files: vec![file(dir.path(), "a.json", text.as_bytes())], ..CredentialFiles::default() };
    let client = Client::new(Settings { credentials, ..settings(&server.host) }).unwrap();
    let error = client.manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    let message = format!("{} {:?}", error.cause, client);
    assert!(message.contains("user `user`") && message.contains("a.json") && !message.contains("other"), "{message}");
}

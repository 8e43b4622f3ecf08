//! Against servers on loopback: some that lie, and a real registry that others wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod credentials;
mod double;
mod hostile;
mod images;
mod kept;
mod layouts;
mod others;
mod real;
mod redirects;
mod referrers;
mod retries;
mod server;
mod tokens;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_registry::{Client, CredentialFiles, Patience, Reference, Settings};

/// Settings that reach one host without encryption, find no credentials, and do not wait long.
fn settings(host: &str) -> Settings {
    Settings {
        insecure: vec![host.to_owned()],
        proxies: false,
        patience: Patience { attempts: 3, first_pause: Duration::from_millis(1), ..Patience::default() },
        ..Settings::default()
    }
}

fn client(host: &str) -> Client {
    Client::new(settings(host)).unwrap()
}

fn reference(host: &str, rest: &str) -> Reference {
    format!("oci://{host}/{rest}").parse().unwrap()
}

/// A file of credentials for hosts, each with `user:secret`.
fn login(dir: &Path, hosts: &[&str]) -> CredentialFiles {
    // `user:secret` in base64.
    let entries: BTreeMap<&str, serde_json::Value> =
        hosts.iter().map(|host| (*host, serde_json::json!({"auth": "dXNlcjpzZWNyZXQ="}))).collect();
    let path = dir.join("auth.json");
    std::fs::write(&path, serde_json::json!({ "auths": entries }).to_string()).unwrap();
    CredentialFiles { files: vec![path], ..CredentialFiles::default() }
}

/// What `user:secret` looks like to a server.
const BASIC: &str = "Basic dXNlcjpzZWNyZXQ=";

/// A file with this content.
fn file(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

//! Integration tests with servers on the loopback interface: malicious ones, and a real registry.
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
mod tags;
mod tokens;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_registry::{Client, CredentialFiles, Reference, Settings, Timeouts};

/// Returns settings for one host with plain HTTP, without credentials, and with short timeouts.
fn settings(host: &str) -> Settings {
    Settings {
        insecure: vec![host.to_owned()],
        proxies: false,
        patience: Timeouts { attempts: 3, first_pause: Duration::from_millis(1), ..Timeouts::default() },
        ..Settings::default()
    }
}

fn client(host: &str) -> Client {
    Client::new(settings(host)).unwrap()
}

fn reference(host: &str, rest: &str) -> Reference {
    format!("oci://{host}/{rest}").parse().unwrap()
}

/// Writes a credential file with `user:secret` for each host.
fn login(dir: &Path, hosts: &[&str]) -> CredentialFiles {
    // `user:secret` in base64.
    let entries: BTreeMap<&str, serde_json::Value> =
        hosts.iter().map(|host| (*host, serde_json::json!({"auth": "dXNlcjpzZWNyZXQ="}))).collect();
    let path = dir.join("auth.json");
    std::fs::write(&path, serde_json::json!({ "auths": entries }).to_string()).unwrap();
    CredentialFiles { files: vec![path], ..CredentialFiles::default() }
}

/// Authorization header for `user:secret`.
const BASIC: &str = "Basic dXNlcjpzZWNyZXQ=";

/// Writes a file and returns its path.
fn file(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

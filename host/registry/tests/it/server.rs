//! A real registry and client: Debian's `docker-registry`, with its path in
//! `PLUMBLINE_DOCKER_REGISTRY`, and `skopeo`, with its path in `PLUMBLINE_SKOPEO`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plumbline_registry::{Client, Settings};
use tempfile::TempDir;

use crate::{file, login, settings};

/// Entry as `htpasswd -B` writes it: `user` with the password `secret`.
const HTPASSWD: &str = "user:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// A registry for one test, which stops when this value is dropped.
pub(crate) struct Registry {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    pub(crate) dir: TempDir,
    secure: bool,
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program in an environment variable. If it is not set, returns `None` and prints a
/// message.
pub(crate) fn program(variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|named| !named.is_empty());
    if named.is_none() {
        eprintln!("SKIPPED: {variable} names no program; `cargo xtask test` gets it from Debian's packages");
    }
    named.map(PathBuf::from)
}

impl Registry {
    /// Starts a registry with plain HTTP and without authentication.
    pub(crate) async fn open() -> Option<Self> {
        Self::start(false).await
    }

    /// Starts a registry with its own CA (`ca.pem` in its directory) and authentication as `user`
    /// with the password `secret`.
    pub(crate) async fn closed() -> Option<Self> {
        Self::start(true).await
    }

    async fn start(secure: bool) -> Option<Self> {
        let program = program("PLUMBLINE_DOCKER_REGISTRY")?;
        let dir = tempfile::tempdir().unwrap();
        // Use a port that was free a moment ago, because the server does not report its port.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let storage = dir.path().join("storage");
        let mut http = serde_json::json!({"addr": host, "secret": "of a test"});
        // JSON is valid YAML.
        let mut config = serde_json::json!({
            "version": "0.1", "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": storage}},
        });
        if secure {
            let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
            let certificate = file(dir.path(), "ca.pem", made.cert.pem().as_bytes());
            let key = file(dir.path(), "key.pem", made.signing_key.serialize_pem().as_bytes());
            http["tls"] = serde_json::json!({"certificate": certificate, "key": key});
            let users = file(dir.path(), "htpasswd", HTPASSWD.as_bytes());
            config["auth"] = serde_json::json!({"htpasswd": {"realm": "test", "path": users}});
        }
        config["http"] = http;
        let config = file(dir.path(), "config.yml", config.to_string().as_bytes());
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let mut child = Command::new(program)
            .arg("serve")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        for _ in 0..1200 {
            if tokio::net::TcpStream::connect(&host).await.is_ok() {
                return Some(Self { child, host, dir, secure });
            }
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the registry ended: {status}: {}", std::fs::read_to_string(dir.path().join("log")).unwrap());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the registry does not listen");
    }

    /// Returns settings that allow access to this registry.
    pub(crate) fn settings(&self) -> Settings {
        let settings = settings(&self.host);
        if !self.secure {
            return settings;
        }
        let credentials = login(self.dir.path(), &[&self.host]);
        Settings { insecure: Vec::new(), ca_files: vec![self.dir.path().join("ca.pem")], credentials, ..settings }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.settings()).unwrap()
    }
}

/// Runs `skopeo` with these arguments, isolated from the user's settings, and returns its output.
/// `None` if it is not installed.
pub(crate) fn skopeo(dir: &Path, arguments: &[&str]) -> Option<String> {
    let program = program("PLUMBLINE_SKOPEO")?;
    let mut command = Command::new(program);
    command
        .arg("--insecure-policy")
        .args(arguments)
        .env("HOME", dir)
        .env("XDG_RUNTIME_DIR", dir)
        .env_remove("REGISTRY_AUTH_FILE");
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(proxy);
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "skopeo {}: {stderr}", arguments.join(" "));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

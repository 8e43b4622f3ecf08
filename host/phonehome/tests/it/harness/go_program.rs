//! The other implementation of the protocol: a small Go program, built once for all tests.

use std::path::PathBuf;
use std::process::Stdio;

use plumbline_phonehome::ClientConfig;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::OnceCell;

use super::tools::{command, has, output, skipped};

static PROGRAM: OnceCell<PathBuf> = OnceCell::const_new();

/// The running program. It prints JSON values, one per line, and ends when its standard input ends.
pub(crate) struct GoProgram {
    lines: Lines<BufReader<ChildStdout>>,
    input: Option<ChildStdin>,
    child: Child,
}

impl GoProgram {
    /// Starts the program with `arguments` and `environment`. Returns `None` if this machine has no
    /// Go.
    pub(crate) async fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        if !has("go") {
            skipped("go");
            return None;
        }
        let program = PROGRAM.get_or_init(build).await;
        let mut child = command(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Some(Self { lines, input: child.stdin.take(), child })
    }

    /// Starts the program as a client with the configuration of a worker.
    pub(crate) async fn client(arguments: &[&str], config: &ClientConfig) -> Option<Self> {
        let environment = [
            ("AGGREGATOR_URL", config.aggregator_url.as_str()),
            ("CA_CERT", &config.ca_cert),
            ("CLIENT_CERT", &config.client_cert),
            ("CLIENT_KEY", &config.client_key),
        ];
        Self::start(arguments, &environment).await
    }

    /// Returns the next value that the program prints.
    pub(crate) async fn says(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the program in Go ended without a word");
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) async fn end(mut self) {
        self.input.take();
        assert!(self.child.wait().await.unwrap().success());
    }
}

async fn build() -> PathBuf {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("phonehome-peer");
    let mut go = command("go");
    go.args(["build", "-o"]).arg(&program).arg(".");
    go.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/go"));
    // No network access, neither for another version of Go nor for anything else.
    go.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOFLAGS", "-mod=mod"), ("CGO_ENABLED", "0")]);
    if std::env::var_os("HOME").is_none() && std::env::var_os("GOCACHE").is_none() {
        go.env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go-cache"));
    }
    let (built, said) = output(&mut go).await;
    assert!(built, "go build: {said}");
    program
}

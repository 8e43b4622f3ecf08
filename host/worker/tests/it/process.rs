//! A worker as a process. It is this test executable, started again with the environment of a pod.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use plumbline_worker::{Mode, WorkerConfig, chain, run_worker_process};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::aggregator::{PLUGIN, Run, node, soon};

/// Turns the test below into a worker: `global`, or the sleep in seconds of a worker on a node.
const MODE: &str = "PLUMBLINE_TEST_WORKER_MODE";
/// The configuration file of that worker, if any.
const CONFIG: &str = "PLUMBLINE_TEST_WORKER_CONFIG";

#[test]
#[ignore = "not a test: other tests start it as a process"]
fn worker() {
    let Ok(mode) = std::env::var(MODE) else { return };
    let mode = match mode.as_str() {
        "global" => Mode::Global { sleep: 0 },
        sleep => Mode::SingleNode { sleep: sleep.parse().unwrap() },
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let file = std::env::var_os(CONFIG).map(PathBuf::from);
    let config = match WorkerConfig::load(mode, file.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("{}", chain(&error));
            std::process::exit(1)
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(run_worker_process(config, mode, None::<std::future::Ready<()>>)) {
        Ok(ended) => {
            eprintln!("ended: {ended:?}");
            std::process::exit(0)
        }
        Err(error) => {
            eprintln!("{}", chain(&error));
            std::process::exit(1)
        }
    }
}

pub(crate) struct WorkerProcess {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

/// Returns the command of a worker with an empty environment.
pub(crate) fn bare(mode: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "process::worker", "--ignored", "--nocapture", "--test-threads=1"])
        .env_clear()
        .env(MODE, mode)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Returns the command of a worker with a complete environment.
pub(crate) fn complete(mode: &str, run: &Run, aggregator: impl std::fmt::Display, results_dir: &Path) -> Command {
    let mut command = bare(mode);
    command
        .env("AGGREGATOR_URL", format!("https://{aggregator}"))
        .env("RESULT_TYPE", PLUGIN)
        .env("NODE_NAME", node().as_str())
        .env("SONOBUOY_RESULTS_DIR", results_dir)
        .env("SONOBUOY_PROGRESS_PORT", "0")
        .env("SONOBUOY_DONE_FILE_DELAY", "20ms")
        .env("CA_CERT", run.ca.certificate_pem())
        .env("CLIENT_CERT", &run.client.certificate_pem)
        .env("CLIENT_KEY", &run.client.key_pem);
    command
}

pub(crate) fn with_file(mut command: Command, file: &Path) -> Command {
    command.env(CONFIG, file);
    command
}

impl WorkerProcess {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, log }
    }

    /// Waits for a line of the log that contains all of `parts`.
    pub(crate) async fn says(&mut self, parts: &[&str]) -> String {
        soon(&format!("{parts:?} in the log"), async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                if parts.iter().all(|part| line.contains(part)) {
                    return line;
                }
            }
            panic!("the worker ended without saying {parts:?}");
        })
        .await
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Returns the exit code and the rest of the log.
    pub(crate) async fn end(mut self) -> (i32, String) {
        soon("the end of the worker's process", async {
            let mut rest = String::new();
            while let Some(line) = self.log.next_line().await.unwrap() {
                rest.push_str(&line);
                rest.push('\n');
            }
            (self.child.wait().await.unwrap().code().unwrap_or(-1), rest)
        })
        .await
    }

    /// Returns a value of `/proc/PID/status` in bytes.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }
}

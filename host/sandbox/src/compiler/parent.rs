//! The parent process, which requests code.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{CompilerProcess, INVALID, MAX_CODE_BYTES, NO_MEMORY, THREADS};
use crate::cache::{Entry, Key};

/// The maximum length of standard error in bytes.
const MAX_REASON: u64 = 4 << 10;
/// The message that Rust prints before it aborts because of insufficient memory.
const OUT_OF_MEMORY: &str = "memory allocation of";

/// Why compiling failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompilerError {
    /// The component is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Compiling exceeded a limit.
    #[error("more than {0}")]
    Limit(String),
    /// The process was terminated, crashed, or returned unexpected output.
    #[error("the compiler process failed: {0}")]
    Failed(String),
    /// The process could not be started, or communication with it failed.
    #[error("failed to run the compiler process: {0}")]
    Io(#[from] io::Error),
}

/// The output of the process.
struct Answer {
    status: ExitStatus,
    code: Vec<u8>,
    errors: String,
    late: bool,
}

impl CompilerProcess {
    /// Compiles the component `wasm`, whose key is `key`.
    pub(crate) fn compile(&self, key: &Key, wasm: &[u8]) -> Result<Vec<u8>, CompilerError> {
        let child = Command::new(&self.program)
            .arg0("plumbline")
            .args(&self.args)
            .arg(self.memory.to_string())
            .arg(self.cpu_seconds.to_string())
            .env("RAYON_NUM_THREADS", THREADS.to_string())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let answer = talk(child, wasm, Duration::from_secs(self.cpu_seconds.saturating_mul(4)))?;
        self.judge(answer, key)
    }

    fn judge(&self, answer: Answer, key: &Key) -> Result<Vec<u8>, CompilerError> {
        let Answer { status, mut code, errors, late } = answer;
        let last = errors.lines().last().unwrap_or_default().to_owned();
        let memory = || CompilerError::Limit(format!("{} MiB of memory", self.memory >> 20));
        match (status.code(), status.signal()) {
            (Some(0), _) if code.len() as u64 > MAX_CODE_BYTES => {
                Err(CompilerError::Limit(format!("{} MiB of code", MAX_CODE_BYTES >> 20)))
            }
            (Some(0), _) => {
                let verified = Entry::read_verified(&code, key).map(|entry| entry.code.len());
                let length = verified.map_err(|error| CompilerError::Failed(error.to_string()))?;
                code.drain(..code.len().saturating_sub(length));
                Ok(code)
            }
            (Some(INVALID), _) => Err(CompilerError::Invalid(last)),
            (Some(NO_MEMORY), _) => Err(memory()),
            (Some(other), _) => Err(CompilerError::Failed(format!("exit code {other}: {last}"))),
            _ if errors.contains(OUT_OF_MEMORY) => Err(memory()),
            _ if late => Err(CompilerError::Limit(format!("{} s", self.cpu_seconds.saturating_mul(4)))),
            (None, Some(signal)) => Err(self.ended_by(signal)),
            (None, None) => Err(CompilerError::Failed(status.to_string())),
        }
    }

    fn ended_by(&self, signal: i32) -> CompilerError {
        let is = |other: Signal| signal == other.as_raw();
        if is(Signal::XCPU) {
            CompilerError::Limit(format!("{} s of processor time", self.cpu_seconds))
        } else if is(Signal::KILL) {
            CompilerError::Failed("it was killed (signal 9): the machine or the pod may lack memory".to_owned())
        } else {
            CompilerError::Failed(format!("it was ended by signal {signal}"))
        }
    }
}

/// Writes the input of the process and reads its output, until it ends or `time` is over.
fn talk(mut child: Child, wasm: &[u8], time: Duration) -> io::Result<Answer> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, end) = channel::<()>();
    scope(|scope| {
        // This fails if the process does not read all of its input. The end of the process shows
        // the reason.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(wasm)));
        let errors = scope.spawn(move || read(stderr, MAX_REASON));
        let late = scope.spawn(move || {
            let late = end.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            // The process has not been waited for yet, so its ID cannot have been reused.
            if let (true, Some(id)) = (late, id) {
                let _ = kill_process(id, Signal::KILL);
            }
            late
        });
        let code = read(stdout, MAX_CODE_BYTES + 1024);
        if code.is_err() {
            let _ = child.kill();
        }
        let errors = errors.join().unwrap_or_else(|_| Ok(Vec::new()));
        drop(ended);
        let late = late.join().unwrap_or_default();
        let status = child.wait()?;
        Ok(Answer {
            status,
            code: code?,
            errors: String::from_utf8_lossy(&errors.unwrap_or_default()).into_owned(),
            late,
        })
    })
}

/// Reads at most `max` bytes. Dropping the rest closes the pipe, which ends a process that
/// continues to write.
fn read(from: Option<impl Read>, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(max).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

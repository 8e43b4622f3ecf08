//! Compiles in a separate process. The compiler reads untrusted data, and a few kilobytes can take
//! it gigabytes and minutes.
//!
//! The process runs the same program, with a subcommand that calls [`compile_stdin`]. It limits its
//! own resources before it reads anything, and returns the code in the form of a cache entry.

use std::io;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::catch_unwind;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process, setrlimit, waitid,
};
use sha2::{Digest, Sha256};

use crate::cache::{Entry, Key};
use crate::config::CompilerProcess;
use crate::engine::{self, Target};

/// The maximum size of compiled code from the process, in bytes: 128 MiB. The code of CPython has
/// 60 MiB.
pub(crate) const MAX_CODE_BYTES: u64 = 128 << 20;
/// The number of threads that compile. More threads need more memory, and each has a stack of its
/// own.
const THREADS: usize = 4;
/// The exit code for an invalid component. Standard error has the reason.
const INVALID: i32 = 2;
/// The exit code for insufficient memory.
const NO_MEMORY: i32 = 3;

/// The argument after the limits with which the process compiles for [`Target::Portable`].
const PORTABLE: &str = "--portable";

/// The maximum length of standard error in bytes.
const MAX_REASON: u64 = 4 << 10;
/// The message that Rust prints before it aborts because of insufficient memory.
const OUT_OF_MEMORY: &str = "memory allocation of";

#[derive(Debug, thiserror::Error)]
pub(crate) enum CompilerError {
    #[error("{0}")]
    Invalid(String),
    #[error("more than {0}")]
    Limit(String),
    /// The process was terminated, crashed, or returned unexpected output.
    #[error("the compiler process failed: {0}")]
    Failed(String),
    /// The process could not be started, or communication with it failed.
    #[error("failed to run the compiler process: {0}")]
    Io(#[from] io::Error),
}

struct Answer {
    status: ExitStatus,
    code: Vec<u8>,
    errors: String,
    late: bool,
}

impl CompilerProcess {
    /// Compiles the component `wasm`, whose key is `key`, for the machines of `target`.
    pub(crate) fn compile(&self, key: &Key, wasm: &[u8], target: Target) -> Result<Vec<u8>, CompilerError> {
        let child = Command::new(&self.program)
            .arg0("plumbline")
            .args(&self.args)
            .arg(self.memory.to_string())
            .arg(self.cpu_seconds.to_string())
            .args((target == Target::Portable).then_some(PORTABLE))
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
            CompilerError::Failed(format!("it was killed by signal {signal}"))
        }
    }
}

/// Writes the input of the process and reads its output, until it ends. Kills it after `time`.
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
        // A process may close its outputs and continue to run, so the timer stops only after its
        // end. `NOWAIT` keeps its ID valid until then.
        let until_exit = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if id.is_none_or(|id| retry_on_intr(|| waitid(WaitId::Pid(id), until_exit)).is_err()) {
            let _ = child.kill();
        }
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

/// Compiles the component on standard input and writes its code to standard output. Limits itself
/// to `memory` bytes and `cpu_seconds` of CPU time. The code is for this machine, or for any of its
/// architecture and operating system if `portable`. Returns the exit code of the process.
pub fn compile_stdin(memory: u64, cpu_seconds: u64, portable: bool) -> io::Result<i32> {
    limit(Resource::Data, memory, 0)?;
    // At the soft limit, the signal shows which resource was exhausted. At the hard limit, the
    // process is killed.
    limit(Resource::Cpu, cpu_seconds, 5)?;
    limit(Resource::Core, 0, 0)?;

    let mut wasm = Vec::new();
    io::stdin().lock().take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut wasm)?;
    let target = if portable { Target::Portable } else { Target::Native };
    let compiled = catch_unwind(|| -> wasmtime::Result<_> {
        let engine = target.compiler()?;
        let code = engine.precompile_component(&wasm)?;
        Ok((engine::fingerprint(&engine), code))
    });
    match compiled {
        Ok(Ok((engine, code))) => {
            let key = Key { engine, component: Sha256::digest(&wasm).into() };
            let mut out = io::stdout().lock();
            out.write_all(&Entry::head(&key, &code))?;
            out.write_all(&code)?;
            out.flush()?;
            Ok(0)
        }
        Ok(Err(error)) => {
            let reason = format!("{error:#}");
            writeln!(io::stderr(), "{reason}")?;
            // The system's message for ENOMEM, which the engine passes on as text.
            Ok(if reason.contains("Cannot allocate memory") { NO_MEMORY } else { INVALID })
        }
        // The panic message is on standard error.
        Err(_) => Ok(INVALID),
    }
}

/// Sets the soft limit to `value` and the hard limit to `more` above it. Neither exceeds the
/// current hard limit of the process.
fn limit(resource: Resource, value: u64, more: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(value.min(most)), maximum: Some(value.saturating_add(more).min(most)) };
    Ok(setrlimit(resource, limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk_to(script: &str, time: Duration) -> Answer {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // More than a pipe holds, so writing it blocks until the process ends.
        talk(command.spawn().unwrap(), &[0; 1 << 20], time).unwrap()
    }

    #[test]
    fn a_process_that_closes_its_outputs_and_continues_is_killed() {
        let answer = talk_to("exec sleep 600 >&- 2>&-", Duration::from_millis(200));
        assert!(answer.late);
        assert_eq!(answer.status.signal(), Some(Signal::KILL.as_raw()));
    }

    #[test]
    fn a_process_that_closes_its_outputs_may_end_by_itself() {
        let answer = talk_to("echo code; exec >&- 2>&-; sleep 0.1; exit 7", Duration::from_secs(600));
        assert!(!answer.late);
        assert_eq!((answer.status.code(), answer.code.as_slice()), (Some(7), &b"code\n"[..]));
    }
}

//! Runs programs of the machine, with limits.
//!
//! Below a foreign root, a program runs with that root as its own (`chroot(2)`), so that it finds
//! its libraries. Only root can do that. The image of this program has no `chroot`, and running
//! code between fork and exec would need unsafe code. Instead a helper (see [`Options::helper`]),
//! which is this program, enters the root and becomes the other program ([`enter`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use plumbline_core::text::Printable;
use rustix::process::{Pid, Signal};

use crate::collector::{Collector, Options};
use crate::source::Source;

const DIRECTORIES: [&str; 7] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin"];

const MAX_STDERR: u64 = 4 << 10;

const PIECE: usize = 64 << 10;

/// Interval between checks whether a program that closed its output has exited.
const PAUSE: Duration = Duration::from_millis(5);

/// Minimum time for stderr to arrive after the program has exited.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

/// Limits for `--version`, which normally answers in a tenth of a second.
const VERSION_BOUNDS: Bounds = Bounds { patience: Duration::from_secs(10), bytes: 16 << 10 };

/// Exit code when the root cannot be entered, as in `chroot`.
pub const CANNOT_ENTER: u8 = 125;
/// Exit code when the program exists but cannot be executed.
pub const CANNOT_EXECUTE: u8 = 126;
/// Exit code when the program does not exist.
pub const NOT_FOUND: u8 = 127;

/// Makes `root` the root of this process, and replaces the process with `program`.
///
/// This needs CAP_SYS_CHROOT. The environment is passed on unchanged, so the caller decides what
/// the node's programs see. Returns only on failure, with an exit code and the cause.
pub fn enter(root: &Path, program: &str, args: &[String]) -> (u8, io::Error) {
    let entered = rustix::process::chroot(root).map_err(io::Error::from);
    if let Err(error) = entered.and_then(|()| std::env::set_current_dir("/")) {
        return (CANNOT_ENTER, error);
    }
    let error = Command::new(program).args(args).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_EXECUTE };
    (code, error)
}

/// Limits for running a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) patience: Duration,
    /// Maximum size of its output in bytes.
    pub(crate) bytes: u64,
}

/// Returns the path of a program with this name below the root.
pub(crate) fn find(source: &Source, name: &str) -> Option<String> {
    let candidates = DIRECTORIES.iter().map(|directory| format!("{directory}/{name}"));
    candidates.into_iter().find(|path| source.stat(path).is_ok_and(|stat| stat.st_mode & 0o111 != 0))
}

/// Returns the first program of this name in `path`, a list in the format of the variable `PATH`.
pub(crate) fn search(path: &OsStr, name: &str) -> Option<PathBuf> {
    let found = std::env::split_paths(path).map(|directory| directory.join(name));
    found.into_iter().find(|candidate| candidate.is_absolute() && candidate.is_file())
}

/// Runs a program and returns its output, or the reason why there is none. `program` is a path
/// below the root.
///
/// It gets a minimal environment and `variables`, because this process's own may hold secrets.
pub(crate) fn run(
    options: &Options,
    program: &str,
    arguments: &[&str],
    variables: &[(&str, OsString)],
    bounds: Bounds,
) -> Result<String, String> {
    if options.root != Path::new("/") && !rustix::process::geteuid().is_root() {
        return Err(format!("{program} was not run: only root can run a program below another root"));
    }
    let command = in_root(&options.root, options.helper.as_ref(), program);
    let mut command =
        command.ok_or_else(|| format!("{program} was not run: this program cannot enter another root directory"))?;
    command.args(arguments).env_clear().env("PATH", DIRECTORIES.join(":")).env("LANG", "C.UTF-8").env("HOME", "/");
    command.envs(variables.iter().map(|(name, value)| (name, value))).current_dir("/");
    let mut output = Vec::new();
    let mut keep = |piece: &[u8]| {
        output.extend_from_slice(piece);
        if output.len() as u64 > bounds.bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    };
    let ended = match stream(&mut command, bounds.patience, &mut keep) {
        Ok(ended) => ended,
        Err(StreamError::Start(error)) => return Err(format!("failed to run {program}: {error}")),
        Err(StreamError::Write(_)) => return Err(format!("{program} printed more than {} bytes", bounds.bytes)),
    };
    match ended.exit {
        // After a read error, what was read before is used.
        Exit::Status(status) if status.success() => {
            String::from_utf8(output).map_err(|_| format!("{program} printed invalid UTF-8"))
        }
        Exit::Status(status) => {
            let line = ended.stderr.lines().rfind(|line| !line.trim().is_empty());
            let line = line.map(|line| format!(": {}", Printable::escaped(line.trim(), 200))).unwrap_or_default();
            Err(format!("{program} exited with {status}{line}"))
        }
        Exit::Late => Err(format!("{program} did not end within {} s", bounds.patience.as_secs())),
        Exit::Unknown(error) => Err(format!("failed to run {program}: {error}")),
    }
}

/// Runs a program below the root and returns its output, or the reason why the facts that no file
/// has are unknown.
pub(crate) fn ask(collector: &Collector<'_>, name: &str, arguments: &[&str], bounds: Bounds) -> Result<String, String> {
    let program = find(collector.source, name);
    let program = program.ok_or_else(|| format!("no program `{name}` in the usual directories"))?;
    if !collector.options.run_programs {
        return Err(format!("no file has it, and {program} was not run: `--run-programs` was not given"));
    }
    run(collector.options, &program, arguments, &[], bounds)
}

/// Returns the version that a program prints, or records why it is unknown.
pub(crate) fn version(
    collector: &mut Collector<'_>,
    fact: &str,
    name: &str,
    parse: fn(&str) -> String,
) -> Option<String> {
    let answer = ask(collector, name, &["--version"], VERSION_BOUNDS);
    answer
        .map_err(|reason| collector.miss(&format!("plumbline_facts.{fact}.version"), reason))
        .ok()
        .map(|it| parse(&it))
}

/// Returns the command that runs `program` in `root`, or `None` if there is no helper for that.
pub(crate) fn in_root(root: &Path, helper: Option<&(PathBuf, Vec<String>)>, program: &str) -> Option<Command> {
    if root == Path::new("/") {
        return Some(Command::new(program));
    }
    let (helper, first) = helper?;
    let mut command = Command::new(helper);
    command.args(first).arg(root).arg(program);
    Some(command)
}

/// How a program ended.
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    /// Why its output could not be read to the end.
    pub(crate) broken: Option<io::Error>,
    /// The beginning of its stderr.
    pub(crate) stderr: String,
}

pub(crate) enum Exit {
    Status(ExitStatus),
    /// It was killed after the time limit.
    Late,
    Unknown(io::Error),
}

/// Error while running a program.
pub(crate) enum StreamError {
    Start(io::Error),
    /// The receiver did not take the output, and the program was killed.
    Write(io::Error),
}

/// Runs a program, and passes its output to `write` piece by piece.
///
/// After the time limit, the program and its children are killed.
pub(crate) fn stream(
    command: &mut Command,
    limit: Duration,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<Ended, StreamError> {
    // The program gets its own process group, so that its children can be killed with it.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running { child: command.spawn().map_err(StreamError::Start)?, ended: false };
    let (pieces, stderr) = (pieces(running.child.stdout.take()), beginning(running.child.stderr.take()));
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    let mut broken = None;
    let mut exit = loop {
        match pieces.recv_timeout(left()) {
            Ok(Ok(piece)) => write(&piece).map_err(StreamError::Write)?,
            Ok(Err(error)) => broken = Some(error),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => break Some(Exit::Late),
        }
    };
    let exit = loop {
        if let Some(exit) = exit {
            break exit;
        }
        exit = match running.child.try_wait() {
            Ok(Some(status)) => {
                running.ended = true;
                Some(Exit::Status(status))
            }
            Ok(None) if left().is_zero() => Some(Exit::Late),
            Ok(None) => None,
            Err(error) => Some(Exit::Unknown(error)),
        };
        if exit.is_none() {
            thread::sleep(PAUSE);
        }
    };
    drop(running);
    let stderr = stderr.recv_timeout(left().max(STDERR_TIMEOUT)).unwrap_or_default();
    Ok(Ended { exit, broken, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// A running program. It is killed with its children on drop.
struct Running {
    child: Child,
    ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).filter(|_| !self.ended) {
            // The program has not been waited for yet, so its PID has not been reused.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Reads a stream on a separate thread, and sends its pieces.
fn pieces(stream: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(1);
    let Some(mut stream) = stream else { return receiver };
    thread::spawn(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            let piece = match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => Ok(buffer.get(..read).unwrap_or_default().to_vec()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = piece.is_err();
            // Without a receiver, the program was killed.
            if sender.send(piece).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

/// Reads the beginning of a stream on a separate thread, and discards the rest, so that the program
/// never blocks on a full pipe.
fn beginning(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(1);
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut kept = Vec::new();
            // A read error only shortens the text.
            let _ = stream.by_ref().take(MAX_STDERR).read_to_end(&mut kept);
            let _ = sender.send(kept);
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, patience: Duration, bytes: u64) -> Result<String, String> {
        let options = Options::new("/");
        super::run(&options, "/bin/sh", &["-c", script], &[], Bounds { patience, bytes })
    }

    #[test]
    fn an_answer_is_what_a_program_prints() {
        let enough = Duration::from_secs(30);
        assert_eq!(run("printf '%s' \"$LANG $HOME\"", enough, 100).unwrap(), "C.UTF-8 /");
        assert_eq!(run("printf 12345", enough, 4).unwrap_err(), "/bin/sh printed more than 4 bytes");
        assert_eq!(
            run("echo first >&2; echo second >&2; exit 3", enough, 100).unwrap_err(),
            "/bin/sh exited with exit status: 3: second"
        );
        assert_eq!(run("printf '\\377'", enough, 100).unwrap_err(), "/bin/sh printed invalid UTF-8");
        // More stderr than a pipe holds does not block the program.
        assert_eq!(run("head -c 300000 /dev/zero >&2; printf done", enough, 100).unwrap(), "done");
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_with_what_it_started() {
        let place = tempfile::tempdir().unwrap();
        let mark = place.path().join("child");
        let script = format!("sleep 300 & echo $! > {0}.new; mv {0}.new {0}; wait", mark.display());
        let error = run(&script, Duration::from_millis(700), 100).unwrap_err();
        assert!(error.starts_with("/bin/sh did not end within "), "{error}");
        let child = std::fs::read_to_string(&mark).unwrap();
        // The kernel delivers the signal asynchronously.
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
            if state.is_empty() || state.contains(") Z ") {
                break;
            }
            assert!(Instant::now() < deadline, "what it started has not ended: {state}");
            thread::yield_now();
        }
    }

    #[test]
    fn nothing_is_run_below_a_foreign_root_without_a_way_in() {
        let options = Options::new("/proc/self/root");
        let bounds = Bounds { patience: Duration::from_secs(1), bytes: 1 };
        let error = super::run(&options, "/bin/true", &[], &[], bounds).unwrap_err();
        assert!(error.starts_with("/bin/true was not run: "), "{error}");
    }
}

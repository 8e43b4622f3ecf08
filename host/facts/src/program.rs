//! Runs a program of the machine, with limits.
//!
//! Below a foreign root, a program runs with that root as its own (`chroot(2)`), so that it finds
//! its libraries. Only root can do that. The call has to happen between the fork and the start of
//! the program, so a helper program makes it (see [`Options::helper`]).

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::options::Options;

/// Directories in which programs are searched.
const DIRECTORIES: [&str; 7] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin"];

/// Maximum number of bytes of stderr to keep.
const MAX_COMPLAINT: u64 = 2048;

/// Interval between checks whether a program that closed its output has exited.
const PAUSE: Duration = Duration::from_millis(5);

/// Limits for running a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) patience: Duration,
    /// Maximum size of its output in bytes.
    pub(crate) bytes: u64,
}

/// Error while running a program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("failed to run {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("{0} was not run: only root can run a program below another root")]
    NotRoot(String),
    #[error("{0} was not run: this program does not know how to enter another root")]
    NoEntry(String),
    #[error("{program} did not end within {} s", patience.as_secs())]
    Silent { program: String, patience: Duration },
    #[error("{program} printed more than {bytes} bytes")]
    Talkative { program: String, bytes: u64 },
    #[error("{program} exited with {status}{complaint}")]
    Failed { program: String, status: ExitStatus, complaint: Complaint },
    #[error("{0} printed invalid UTF-8")]
    NotText(String),
}

/// The stderr of a program. It is displayed as its last line.
#[derive(Debug)]
pub(crate) struct Complaint(String);

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.0.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        if line.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", line.trim().chars().take(200).flat_map(char::escape_debug).collect::<String>())
    }
}

/// Runs programs below a root.
pub(crate) struct Programs<'a> {
    root: &'a Path,
    helper: Option<&'a (PathBuf, Vec<String>)>,
    variables: Vec<(OsString, OsString)>,
}

impl<'a> Programs<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        Self { root: &options.root, helper: options.helper.as_ref(), variables: Vec::new() }
    }

    /// Adds an environment variable. Programs get a minimal environment, because this process's own
    /// may hold secrets.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Returns the path of a program with this name below the root.
    pub(crate) fn find(source: &crate::source::Source, name: &str) -> Option<String> {
        let candidates = DIRECTORIES.iter().map(|directory| format!("{directory}/{name}"));
        candidates.into_iter().find(|path| source.stat(path).is_ok_and(|stat| stat.st_mode & 0o111 != 0))
    }

    /// Runs a program and returns its output. `program` is a path below the root.
    pub(crate) fn run(&self, program: &str, arguments: &[&str], bounds: Bounds) -> Result<String, ProgramError> {
        let mut command = self.command(program)?;
        command.args(arguments).env_clear().env("PATH", DIRECTORIES.join(":")).env("LANG", "C.UTF-8").env("HOME", "/");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        // The program gets its own process group, so that its children can be killed with it.
        command.current_dir("/").process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|source| ProgramError::Start { program: program.to_owned(), source })?;
        let bytes = Running { child, ended: false }.answer(program, bounds)?;
        String::from_utf8(bytes).map_err(|_| ProgramError::NotText(program.to_owned()))
    }

    fn command(&self, program: &str) -> Result<Command, ProgramError> {
        if self.root == Path::new("/") {
            return Ok(Command::new(program));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(ProgramError::NotRoot(program.to_owned()));
        }
        let (helper, first) = self.helper.ok_or_else(|| ProgramError::NoEntry(program.to_owned()))?;
        let mut command = Command::new(helper);
        command.args(first).arg(self.root).arg(program);
        Ok(command)
    }
}

/// A running program. It is killed with its children on drop.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn answer(mut self, program: &str, bounds: Bounds) -> Result<Vec<u8>, ProgramError> {
        let name = || program.to_owned();
        let deadline = Instant::now() + bounds.patience;
        let silent = || ProgramError::Silent { program: name(), patience: bounds.patience };
        let output = read(self.child.stdout.take(), bounds.bytes.saturating_add(1));
        let complaint = read(self.child.stderr.take(), MAX_COMPLAINT);
        let left = || deadline.saturating_duration_since(Instant::now());
        let bytes = output.recv_timeout(left()).map_err(|_| silent())?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bounds.bytes {
            return Err(ProgramError::Talkative { program: name(), bytes: bounds.bytes });
        }
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if left().is_zero() => return Err(silent()),
                Ok(None) => thread::sleep(PAUSE),
                Err(source) => return Err(ProgramError::Start { program: name(), source }),
            }
        };
        self.ended = true;
        if status.success() {
            return Ok(bytes);
        }
        let complaint = complaint.recv_timeout(left().max(PAUSE)).unwrap_or_default();
        let complaint = Complaint(String::from_utf8_lossy(&complaint).into_owned());
        Err(ProgramError::Failed { program: name(), status, complaint })
    }
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

/// Reads at most `limit` bytes on a separate thread, and discards the rest.
fn read(stream: Option<impl Read + Send + 'static>, limit: u64) -> mpsc::Receiver<Vec<u8>> {
    let (tell, bytes) = mpsc::sync_channel(1);
    if let Some(stream) = stream {
        thread::spawn(move || {
            let mut kept = Vec::new();
            let mut limited = stream.take(limit);
            // After a read error, use what was read before.
            let _ = limited.read_to_end(&mut kept);
            let _ = tell.send(kept);
            // A program with a long stderr must not block on a full pipe. One that prints too much
            // is killed.
            let _ = io::copy(&mut limited.into_inner(), &mut io::sink());
        });
    }
    bytes
}

/// Returns the first program of this name in `path`, a list in the format of the variable `PATH`.
pub(crate) fn search(path: &std::ffi::OsStr, name: &str) -> Option<PathBuf> {
    let found = std::env::split_paths(path).map(|directory| directory.join(name));
    found.into_iter().find(|candidate| candidate.is_absolute() && candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, patience: Duration, bytes: u64) -> Result<String, String> {
        let options = Options::new("/");
        let answer = Programs::new(&options).run("/bin/sh", &["-c", script], Bounds { patience, bytes });
        answer.map_err(|error| error.to_string())
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
        let error = Programs::new(&options).run("/bin/true", &[], bounds).unwrap_err().to_string();
        assert!(error.starts_with("/bin/true was not run: "), "{error}");
    }
}

//! Handles Ctrl-C with time to clean up: stops the running program first, and then the cluster that
//! was started for it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Error;

/// The interval for checking whether a program has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How long a program may take to end after it is asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Whether an interrupt was requested.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    wanted: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on, records the signals that would end this program.
    pub(crate) fn catch() -> Result<Self, Error> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&wanted))
                .map_err(|error| Error::unexpected(format!("signals cannot be caught: {error}")))?;
        }
        Ok(Self { wanted })
    }

    /// Runs a program to its end, in a process group of its own with everything that it starts. An
    /// interrupt is passed on to the group.
    pub(crate) fn status(&self, command: &mut Command) -> Result<ExitStatus, Error> {
        self.check()?;
        let program = command.get_program().to_string_lossy().into_owned();
        let start = |source| Error::Start { program: program.clone(), source };
        let mut child = command.process_group(0).spawn().map_err(start)?;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => {
                    self.check()?;
                    return Ok(status);
                }
                Ok(None) if self.wanted.load(Ordering::Relaxed) => {
                    end(&mut child);
                    return Err(interrupted());
                }
                Ok(None) => sleep(LOOK),
                Err(source) => return Err(Error::Start { program, source }),
            }
        }
    }

    /// Like [`Interrupt::status`], but a failure of the program is an error.
    pub(crate) fn run(&self, command: &mut Command) -> Result<(), Error> {
        let status = self.status(command)?;
        if status.success() {
            return Ok(());
        }
        let line: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        let command = line.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Err(Error::Failed { command, status, output: String::new() })
    }

    fn check(&self) -> Result<(), Error> {
        if self.wanted.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) }
    }
}

/// Asks the whole group to end, and kills it after the grace period.
fn end(child: &mut Child) {
    signal_group("TERM", child.id());
    let begin = Instant::now();
    while begin.elapsed() < GRACE {
        // An error means that there is no process to wait for.
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        sleep(LOOK);
    }
    signal_group("KILL", child.id());
    // The result does not matter: the child is gone afterwards.
    let _ = child.kill();
    let _ = child.wait();
}

/// Sends a signal to a process group. `kill` is a shell builtin, and Debian's does not support `--`
/// here. The group may have ended already.
fn signal_group(signal: &str, group: u32) {
    let _ = Command::new("sh").args(["-c", &format!("kill -{signal} -{group} 2>/dev/null")]).status();
}

fn interrupted() -> Error {
    Error::unexpected("interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_end_reaches_what_a_program_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let interrupt = Interrupt { wanted: Arc::new(AtomicBool::new(false)) };
        let wanted = Arc::clone(&interrupt.wanted);
        let file = pid.clone();
        let wisher = std::thread::spawn(move || {
            while std::fs::read_to_string(&file).unwrap_or_default().trim().is_empty() {
                sleep(LOOK);
            }
            wanted.store(true, Ordering::Relaxed);
        });
        let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let error = interrupt.status(Command::new("sh").args(["-c", &script])).unwrap_err();
        wisher.join().unwrap();
        assert_eq!(error.to_string(), "interrupted");
        let pid = std::fs::read_to_string(pid).unwrap();
        // The process has been re-parented. It disappears when the kernel and its new parent have
        // handled its end.
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let begin = Instant::now();
        while !stat().is_empty() && !stat().contains(") Z ") {
            assert!(begin.elapsed() < 3 * GRACE, "{}", stat());
            sleep(LOOK);
        }
        // Nothing is started after an interrupt.
        assert!(interrupt.run(&mut Command::new("true")).is_err());
    }

    #[test]
    fn a_failure_names_the_command() {
        let interrupt = Interrupt { wanted: Arc::new(AtomicBool::new(false)) };
        let error = interrupt.run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.contains("sh -c exit 3") && error.contains("exit status: 3"), "{error}");
    }
}

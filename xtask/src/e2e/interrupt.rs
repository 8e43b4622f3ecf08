//! Ctrl-C that leaves time to clean up: what runs is ended, and then so is what was put up for it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Error;

/// How often is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How long a program that was asked to end may take.
const GRACE: Duration = Duration::from_secs(10);

/// Whether somebody wants all this to end.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    wanted: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on the signals that end a program are only noted.
    pub(crate) fn catch() -> Result<Self, Error> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&wanted))
                .map_err(|error| Error::unexpected(format!("signals cannot be caught: {error}")))?;
        }
        Ok(Self { wanted })
    }

    /// Runs a program, with all that it starts in a process group of its own, to its end. A wish to end is passed on to the group.
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

    /// The same for what must succeed.
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

/// Asks the whole group to end, and then ends it.
fn end(child: &mut Child) {
    signal_group("TERM", child.id());
    let begin = Instant::now();
    while begin.elapsed() < GRACE {
        // An error says that there is nothing to wait for.
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        sleep(LOOK);
    }
    signal_group("KILL", child.id());
    // Whatever became of the others: what is waited for is not there any more.
    let _ = child.kill();
    let _ = child.wait();
}

/// The shell has it built in (that of Debian knows no `--` here). A group that is gone is as good.
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
        // It is nobody's child any more: it is gone when the kernel and whoever adopted it have got to it.
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let begin = Instant::now();
        while !stat().is_empty() && !stat().contains(") Z ") {
            assert!(begin.elapsed() < 3 * GRACE, "{}", stat());
            sleep(LOOK);
        }
        // Nothing is begun after it.
        assert!(interrupt.run(&mut Command::new("true")).is_err());
    }

    #[test]
    fn a_failure_names_the_command() {
        let interrupt = Interrupt { wanted: Arc::new(AtomicBool::new(false)) };
        let error = interrupt.run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.contains("sh -c exit 3") && error.contains("exit status: 3"), "{error}");
    }
}

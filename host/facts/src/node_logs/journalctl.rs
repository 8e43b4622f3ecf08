//! Runs the machine's own `journalctl`.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::node_logs::chroot::{self, CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND};
use crate::node_logs::options::Options;

/// Maximum number of bytes of stderr to keep.
const MAX_COMPLAINT: u64 = 4 << 10;

/// Size of the copy buffer in bytes.
const PIECE: usize = 64 << 10;

/// Interval between checks whether the process has exited, after it has closed its output.
const LOOK: Duration = Duration::from_millis(10);

/// The outcome of running `journalctl`.
#[derive(Debug)]
pub(crate) enum JournalctlOutcome {
    /// `journalctl` could not be run, with the reason.
    Impossible(String),
    /// `journalctl` ran.
    Ended {
        /// Number of bytes that it printed.
        bytes: u64,
        /// Why the output is incomplete, or `None` if it is complete.
        failure: Option<String>,
        /// Its stderr in one line.
        complaint: String,
    },
}

/// Runs `journalctl` for everything since `since`, in seconds since 1970. Zero means everything.
///
/// The error is that of writing to `out`.
pub(crate) fn ask(options: &Options, since: u64, out: &mut dyn Write) -> io::Result<JournalctlOutcome> {
    let Some(mut command) = command(options, since) else {
        let why = format!("no program is known that could execute it in `{}`", options.root.display());
        return Ok(JournalctlOutcome::Impossible(why));
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(JournalctlOutcome::Impossible(format!("it cannot be started: {error}"))),
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let complaint = thread::spawn(move || stderr.map(complaint).unwrap_or_default());
    let child = Arc::new(Mutex::new(child));
    let (watchdog, late) = watch(&child, options.time_limit);

    let copied = stdout.map_or(Ok((0, None)), |stdout| copy(stdout, out));
    if copied.is_err() {
        // Nothing reads the output any more.
        kill(&child);
    }
    let status = ended(&child);
    drop(watchdog);
    let late = late.join().unwrap_or_default();
    let complaint = complaint.join().unwrap_or_default();
    let (bytes, broken) = copied?;
    let failure = match status {
        _ if late => Some(format!("it was ended after {} s", options.time_limit.as_secs())),
        _ if broken.is_some() => broken,
        Ok(status) if status.success() => None,
        Ok(status) if bytes == 0 && could_not(status, options) => return Ok(JournalctlOutcome::Impossible(complaint)),
        Ok(status) => Some(format!("it exited with {status}")),
        Err(error) => Some(format!("nobody knows how it ended: {error}")),
    };
    Ok(JournalctlOutcome::Ended { bytes, failure, complaint })
}

/// Waits for the process to exit. It may have closed its output without exiting, and then the
/// watchdog kills it.
fn ended(child: &Mutex<Child>) -> io::Result<ExitStatus> {
    loop {
        let looked = child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
        match looked {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => thread::sleep(LOOK),
            Err(error) => return Err(error),
        }
    }
}

/// Returns true if the exit code says that the helper could not execute the program.
fn could_not(status: ExitStatus, options: &Options) -> bool {
    let codes = [CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND].map(i32::from);
    options.root != Path::new("/") && status.code().is_some_and(|code| codes.contains(&code))
}

fn command(options: &Options, since: u64) -> Option<Command> {
    let mut command = if options.root == Path::new("/") {
        Command::new("journalctl")
    } else {
        let (program, args) = options.helper.as_ref()?;
        let mut command = Command::new(program);
        command.args(args).arg(&options.root).arg("journalctl");
        command
    };
    chroot::clean(&mut command).args(["-o", "json", "-a", "--no-pager"]);
    if since > 0 {
        command.arg(format!("--since=@{since}"));
    }
    Some(command)
}

/// Copies the output, and returns its size and the reason if reading failed.
fn copy(mut from: impl Read, out: &mut dyn Write) -> io::Result<(u64, Option<String>)> {
    let mut buffer = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok((bytes, None)),
            Ok(read) => {
                out.write_all(buffer.get(..read).unwrap_or_default())?;
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok((bytes, Some(format!("failed to read its output: {error}")))),
        }
    }
}

/// Returns the beginning of stderr. The rest is read and dropped, so that the process never blocks
/// on a full pipe.
fn complaint(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    // A read error only shortens the text.
    let _ = from.by_ref().take(MAX_COMPLAINT).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    let text = String::from_utf8_lossy(&kept);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Kills the child after the time limit, unless the sender is dropped earlier.
///
/// The thread returns true if it killed the child.
fn watch(child: &Arc<Mutex<Child>>, limit: Duration) -> (Sender<()>, thread::JoinHandle<bool>) {
    let (sender, receiver) = channel::<()>();
    let child = Arc::clone(child);
    let thread = thread::spawn(move || {
        let late = receiver.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if late {
            kill(&child);
        }
        late
    });
    (sender, thread)
}

fn kill(child: &Mutex<Child>) {
    // It may have exited already.
    let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
}

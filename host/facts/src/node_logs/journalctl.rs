//! The machine's own `journalctl`.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::node_logs::chroot::{self, CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND};
use crate::node_logs::options::Options;

/// Bytes of its complaints that are kept.
const MAX_COMPLAINT: u64 = 4 << 10;

/// Bytes that are copied at once.
const PIECE: usize = 64 << 10;

/// Between two looks whether it has ended, once it has closed its output.
const LOOK: Duration = Duration::from_millis(10);

/// How it went.
#[derive(Debug)]
pub(crate) enum Asked {
    /// It could not be asked: why.
    Impossible(String),
    /// It was asked.
    Ended {
        /// Bytes that it gave.
        bytes: u64,
        /// Why it has not given everything; `None`: it has.
        failure: Option<String>,
        /// What it complained of, in one line.
        complaint: String,
    },
}

/// Asks for everything since `since` (seconds since 1970; zero: everything). The error is that of `out`.
pub(crate) fn ask(options: &Options, since: u64, out: &mut dyn Write) -> io::Result<Asked> {
    let Some(mut command) = command(options, since) else {
        let why = format!("no program is known that could execute it in `{}`", options.root.display());
        return Ok(Asked::Impossible(why));
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Asked::Impossible(format!("it cannot be started: {error}"))),
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let complaint = thread::spawn(move || stderr.map(complaint).unwrap_or_default());
    let child = Arc::new(Mutex::new(child));
    let (watchdog, late) = watch(&child, options.time_limit);

    let copied = stdout.map_or(Ok((0, None)), |stdout| copy(stdout, out));
    if copied.is_err() {
        // Nobody reads it any more.
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
        Ok(status) if bytes == 0 && could_not(status, options) => return Ok(Asked::Impossible(complaint)),
        Ok(status) => Some(format!("it exited with {status}")),
        Err(error) => Some(format!("nobody knows how it ended: {error}")),
    };
    Ok(Asked::Ended { bytes, failure, complaint })
}

/// Waits for its end, for which the watchdog sees to it: whoever has closed their output need not have ended.
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

/// Whether the helper says that it never came to it.
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

/// The bytes, and why there are not more, if that is not the end.
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

/// The beginning of what it complains of; the rest is taken all the same, so that it never waits for a reader.
fn complaint(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    // What cannot be read is no complaint.
    let _ = from.by_ref().take(MAX_COMPLAINT).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    let text = String::from_utf8_lossy(&kept);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Ends the child when its time is up, unless the sender is dropped before. The thread's answer: whether it came to that.
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
    // It may have ended by itself.
    let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
}

//! What a person sees while something goes on: talk on stderr, one line per event, or bars on a terminal.

mod cluster;
mod cluster_bars;
mod cluster_lines;
mod cluster_plugins;
mod cluster_rate;
mod lines;
mod stalled;
mod transfer;
mod watch;
mod withdrawn;

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use indicatif::{MultiProgress, ProgressDrawTarget};
use plumbline_core::text;

pub(crate) use cluster::{Ended, follow};
pub(crate) use cluster_plugins::period;
pub(crate) use lines::{local_log, local_logs, progress};
pub(crate) use stalled::{logs_command, stalled};
pub(crate) use transfer::Transfer;
pub(crate) use watch::Watch;
pub(crate) use withdrawn::withdrawn;

/// The bars of this process, if it shows any.
static BARS: OnceLock<MultiProgress> = OnceLock::new();

/// Whether stderr is redrawn: only a terminal is, and not in CI, where a log is kept of it.
fn redraws() -> bool {
    io::stderr().is_terminal()
        && std::env::var_os("CI").is_none()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn bars() -> &'static MultiProgress {
    BARS.get_or_init(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8)))
}

/// Prints a message on stderr, above the bars if there are any. Whatever others wrote in it is made safe for a terminal, and lines after
/// the first are indented, so that they cannot pass for messages of their own.
pub(crate) fn say(text: &str) {
    above(|| {
        // Nobody reads stderr: then nobody misses it.
        let _ = writeln!(anstream::stderr(), "{}", text::indented(text, "  "));
    });
}

fn above(print: impl FnOnce()) {
    match BARS.get() {
        Some(bars) => bars.suspend(print),
        None => print(),
    }
}

/// Where the log is written.
pub(crate) fn log_writer() -> LogWriter {
    LogWriter
}

/// Writes lines of the log on stderr without tearing the bars.
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An event arrives whole, in one call.
        let event = text::indented(&String::from_utf8_lossy(bytes), "  ");
        let mut result = Ok(0);
        above(|| result = writeln!(io::stderr(), "{event}").map(|()| bytes.len()));
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

//! The terminal behind stderr: permanent lines, and below them a frame that is redrawn in place.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumbline_core::text;

use crate::ci::WithoutCommands;
use crate::ui::line::{Line, Tone};

/// Whether only warnings are printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, prints only warnings: no messages, events or frames.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The start of messages that are warnings.
const WARNING: &str = "warning:";

static FRAME: Mutex<Frame> = Mutex::new(Frame::new());

/// Erases from the cursor to the end of the screen.
const ERASE_BELOW: &str = "\x1b[J";
/// Erases from the cursor to the end of the line.
const ERASE_LINE: &str = "\x1b[K";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// Returns the size of the terminal behind stderr, or 80 by 24 if there is none.
    pub(super) fn of_terminal() -> Self {
        let (columns, rows) = terminal_size::terminal_size_of(io::stderr()).map_or((0, 0), |(w, h)| (w.0, h.0));
        let or = |n: u16, default: usize| if n == 0 { default } else { n.into() };
        Self { columns: or(columns, 80), rows: or(rows, 24) }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Behaviour {
    pub(super) colour: bool,
    /// Whether it wraps lines that are too long for a narrower window, instead of cutting them.
    pub(super) reflows: bool,
}

impl Behaviour {
    fn of_terminal() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let cuts = is_set("STY") || is_set("XTERM_VERSION") || std::env::var_os("TERM").is_some_and(|it| it == "linux");
        Self { colour: colours(), reflows: is_set("TMUX") || !cuts }
    }
}

fn colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Lines that are redrawn in place. The cursor stays below them.
#[derive(Debug)]
pub(super) struct Frame {
    lines: Vec<Line>,
    size: Size,
    /// Rows of earlier frames that scrolled off the top when the window shrank. Many terminals
    /// restore them when it grows.
    scrolled: usize,
}

impl Frame {
    pub(super) const fn new() -> Self {
        Self { lines: Vec::new(), size: Size { columns: 0, rows: 0 }, scrolled: 0 }
    }

    /// Returns the output that replaces the frame on the terminal with those of `lines` that fit.
    pub(super) fn draw(&mut self, lines: Vec<Line>, size: Size, behaviour: Behaviour) -> String {
        // The last column stays free, because some terminals start a new line once it is written.
        let columns = size.columns.saturating_sub(1).max(1);
        let rows = size.rows.saturating_sub(1).max(1);
        let lines: Vec<Line> = lines.into_iter().take(rows).map(|line| line.cut(columns)).collect();
        if lines == self.lines && (size == self.size || lines.is_empty()) {
            return String::new();
        }
        let mut out = self.move_to_top(size, behaviour.reflows);
        for line in &lines {
            out.push_str(&line.render(behaviour.colour));
            out.push_str(ERASE_LINE);
            out.push_str("\r\n");
        }
        out.push_str(ERASE_BELOW);
        (self.lines, self.size) = (lines, size);
        out
    }

    /// Moves the cursor to the frame's first row, wherever a resize has put it.
    fn move_to_top(&mut self, size: Size, reflows: bool) -> String {
        if self.lines.is_empty() {
            self.scrolled = 0;
            return String::new();
        }
        let rows_of = |line: &Line| if reflows { line.width().div_ceil(size.columns).max(1) } else { 1 };
        let rows: usize = self.lines.iter().map(rows_of).sum();
        let brought_back = self.scrolled.min(size.rows.saturating_sub(self.size.rows));
        self.scrolled = self.scrolled - brought_back + rows.saturating_sub(size.rows.saturating_sub(1));
        // Terminals stop at the top of the screen.
        let up = format!("\r\x1b[{}A", rows + brought_back);
        if size == self.size { up } else { up + ERASE_BELOW }
    }
}

fn frame() -> MutexGuard<'static, Frame> {
    FRAME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the frame at the end of stderr, which must be a terminal.
pub(super) fn show(lines: Vec<Line>) {
    if is_quiet() {
        return;
    }
    let text = frame().draw(lines, Size::of_terminal(), Behaviour::of_terminal());
    // An error means that nobody reads stderr.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a message on stderr, above the frame if there is one. Foreign text is made safe for a
/// terminal. Lines after the first are indented, so that they cannot look like separate messages.
pub(crate) fn say(text: &str) {
    if is_quiet() && !text.starts_with(WARNING) {
        return;
    }
    for part in text::indented(text, "  ").split('\n') {
        print_line(&Line::of(Tone::Plain, part));
    }
}

/// Prints a line about an event on stderr, above the frame if there is one.
pub(super) fn say_line(line: &Line) {
    if !is_quiet() {
        print_line(line);
    }
}

fn print_line(line: &Line) {
    let text = line.render(colours());
    // An error means that nobody reads stderr.
    let _ = above(|err| writeln!(WithoutCommands::new(err), "{text}"));
}

fn above<T>(print: impl FnOnce(&mut io::StderrLock<'_>) -> io::Result<T>) -> io::Result<T> {
    let mut frame = frame();
    let mut err = io::stderr().lock();
    if frame.lines.is_empty() {
        return print(&mut err);
    }
    let (size, behaviour) = (Size::of_terminal(), Behaviour::of_terminal());
    let lines = frame.lines.clone();
    err.write_all(frame.draw(Vec::new(), size, behaviour).as_bytes())?;
    let printed = print(&mut err);
    err.write_all(frame.draw(lines, size, behaviour).as_bytes())?;
    printed
}

pub(crate) fn log_writer() -> LogWriter {
    LogWriter
}

/// Returns an event of the log as the terminal gets it. Text from outside cannot control the
/// terminal, and none of its lines looks like a separate event.
pub(crate) fn log_event(bytes: &[u8]) -> String {
    text::indented(&String::from_utf8_lossy(bytes), "  ")
}

/// Writes log lines above the frame.
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Each call contains one complete event.
        let event = log_event(bytes);
        above(|err| writeln!(WithoutCommands::new(err), "{event}")).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

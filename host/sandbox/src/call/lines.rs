//! The log of one call: log lines, standard output and standard error, with a common size limit.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumbline_core::text::Printable;

use crate::call::channel::{Message, Outbox};
use crate::call::io::LogLevel;
use crate::failure::Stop;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// The log of one call. Clones share the same log.
#[derive(Debug, Clone)]
pub(crate) struct Lines(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    outbox: Outbox,
    limit: u64,
    left: u64,
    dropped: u64,
    /// The incomplete current line of each stream.
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Lines {
    /// Creates a log of at most `limit` bytes. A line counts one byte more than its text, so that
    /// empty lines are limited too.
    pub(crate) fn new(outbox: Outbox, limit: u64) -> Self {
        Self(Arc::new(Mutex::new(State { outbox, limit, left: limit, dropped: 0, out: Vec::new(), err: Vec::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self, level: LogLevel, message: &str) -> Result<(), Stop> {
        let mut state = self.lock();
        for line in message.strip_suffix('\n').unwrap_or(message).split('\n') {
            let kept = state.admit(line.len() as u64 + 1)?;
            if kept == 0 {
                continue;
            }
            let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(line.len());
            let text = line.get(..line.floor_char_boundary(kept)).unwrap_or_default();
            state.outbox.send(Message::Line(level, printable(text)))?;
        }
        Ok(())
    }

    /// Writes bytes of a standard stream. Complete lines are sent.
    pub(crate) fn stream(&self, stream: Stream, bytes: &[u8]) -> Result<(), Stop> {
        let mut state = self.lock();
        let kept = usize::try_from(state.admit(bytes.len() as u64)?).unwrap_or(usize::MAX);
        let mut rest = bytes.get(..kept).unwrap_or(bytes);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, tail) = rest.split_at(end);
            state.partial(stream).extend_from_slice(line);
            state.end_line(stream)?;
            rest = tail.get(1..).unwrap_or_default();
        }
        state.partial(stream).extend_from_slice(rest);
        Ok(())
    }

    /// Sends the incomplete lines and returns the total number of dropped bytes.
    pub(crate) fn finish(&self) -> u64 {
        let mut state = self.lock();
        for stream in [Stream::Out, Stream::Err] {
            if !state.partial(stream).is_empty() && state.end_line(stream).is_err() {
                break;
            }
        }
        state.dropped
    }
}

impl State {
    /// Returns how many of `bytes` fit into the limit. The log says so when the first bytes are
    /// dropped.
    fn admit(&mut self, bytes: u64) -> Result<u64, Stop> {
        let kept = bytes.min(self.left);
        self.left -= kept;
        if kept < bytes {
            if self.dropped == 0 {
                let text = format!("log limit `log-bytes` reached: {} bytes: later lines are dropped", self.limit);
                self.outbox.send(Message::Line(LogLevel::Warning, text.into()))?;
            }
            self.dropped = self.dropped.saturating_add(bytes - kept);
        }
        Ok(kept)
    }

    fn partial(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    fn end_line(&mut self, stream: Stream) -> Result<(), Stop> {
        let line = mem::take(self.partial(stream));
        let text = String::from_utf8_lossy(&line);
        let (level, name) = match stream {
            Stream::Out => (LogLevel::Info, "stdout"),
            Stream::Err => (LogLevel::Warning, "stderr"),
        };
        self.outbox.send(Message::Line(level, printable(&format!("{name}: {text}"))))
    }
}

/// Returns a line of the module. Tabs, which separate columns, become spaces.
fn printable(text: &str) -> Printable {
    Printable::escaped(&text.strip_suffix('\r').unwrap_or(text).replace('\t', " "), usize::MAX)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;

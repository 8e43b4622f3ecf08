//! Runs a call on a separate thread, while the caller's thread feeds the sinks.
//!
//! The size of the guest's stack is therefore independent of the caller's thread, sinks may borrow,
//! and parsing and writing overlap.

use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};

use crate::call::io::LogSink;
use crate::call::outbox::{Message, Outbox};
use crate::call::sink::Sink;

/// Runs `guest` with a stack of `stack` bytes. The guest sends to the outbox and ends soon after
/// the flag is set.
///
/// # Errors
///
/// Returns an error if no thread can be started, or if the sink fails.
pub(crate) fn run<R: Send>(
    stack: usize,
    mut sink: Sink<'_>,
    log: &mut dyn LogSink,
    guest: impl FnOnce(Outbox, Arc<AtomicBool>) -> R + Send,
) -> io::Result<R> {
    let (outbox, messages) = Outbox::new();
    let given_up = Arc::new(AtomicBool::new(false));
    scope(|scope| {
        let theirs = Arc::clone(&given_up);
        let thread = Builder::new()
            .name("module".into())
            .stack_size(stack)
            .spawn_scoped(scope, move || guest(outbox, theirs))?;
        // Also if a sink panics: the scope waits for the guest, which must not continue for
        // minutes.
        let guard = GiveUp(given_up);
        for message in messages {
            match message {
                Message::ModuleOutput(said) => sink.take(said)?,
                Message::Line(level, text) => log.line(level, &text),
            }
        }
        // The outbox is closed, so the guest has ended.
        let result = thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        drop(guard);
        Ok(result)
    })
}

struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

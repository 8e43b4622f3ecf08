//! Runs a call on a separate thread, which sends its output to the sinks on the caller's thread.
//!
//! The size of the guest's stack is therefore independent of the caller's thread, sinks may borrow,
//! and parsing and writing overlap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, scope};
use std::{io, panic};

use plumbline_core::item::FlatItem;
use plumbline_core::text::Printable;
use plumbline_core::{Check, Ruling};

use crate::call::io::{CheckProgress, CheckSink, ItemSink, LogLevel, LogSink, RulingSink};
use crate::failure::Stop;

/// The number of batches that wait between module and sink. It is large enough for both to work in
/// parallel, and small enough that a malicious module cannot fill the host's memory.
const WAITING: usize = 2;

/// Runs `guest` with a stack of `stack` bytes. The guest sends to the outbox and ends soon after
/// the flag is set.
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
            match (message, &mut sink) {
                (Message::Line(level, text), _) => log.line(level, &text),
                (Message::Items(items), Sink::Items(sink)) => items.into_iter().try_for_each(|item| sink.item(item))?,
                (Message::Items(items), Sink::Check(sink)) => items.into_iter().try_for_each(|item| sink.item(item))?,
                (Message::Progress(progress), Sink::Check(sink)) => sink.progress(progress)?,
                (Message::Rulings(rulings), Sink::Rulings(sink)) => {
                    rulings.into_iter().try_for_each(|(index, ruling)| sink.ruling(index, ruling))?;
                }
                (Message::Checks(checks), Sink::Rulings(sink)) => {
                    checks.into_iter().try_for_each(|check| sink.check(check))?;
                }
                // The state of the call only lets through what the role may output.
                (Message::Items(_) | Message::Rulings(_) | Message::Checks(_) | Message::Progress(_), _) => {
                    return Err(io::Error::other("the module called a function of another role"));
                }
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

/// A message from a running call. Output was checked, and comes in batches.
#[derive(Debug)]
pub(crate) enum Message {
    Items(Vec<FlatItem>),
    /// Rulings with the numbers of their items.
    Rulings(Vec<(u64, Ruling)>),
    Checks(Vec<Check>),
    Progress(CheckProgress),
    Line(LogLevel, Printable),
}

/// Sends messages. Blocks while the receiver is behind.
#[derive(Debug, Clone)]
pub(crate) struct Outbox(SyncSender<Message>);

impl Outbox {
    pub(crate) fn new() -> (Self, Receiver<Message>) {
        let (sender, receiver) = sync_channel(WAITING);
        (Self(sender), receiver)
    }

    pub(crate) fn send(&self, message: Message) -> Result<(), Stop> {
        self.0.send(message).map_err(|_| Stop::Gone)
    }
}

/// Receives the output of a module batch by batch.
pub(crate) enum Sink<'a> {
    Items(&'a mut dyn ItemSink),
    Check(&'a mut dyn CheckSink),
    Rulings(&'a mut dyn RulingSink),
    /// For roles that only return a value.
    Nothing,
}

//! The channel from a running call to the calling thread.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plumbline_core::item::FlatItem;
use plumbline_core::{Check, Ruling};

use crate::call::io::LogLevel;
use crate::failure::Stop;

/// The number of batches that wait between module and sink. It is large enough for both to work in
/// parallel, and small enough that a malicious module cannot fill the host's memory.
const WAITING: usize = 2;

/// A message from a running call.
#[derive(Debug)]
pub(crate) enum Message {
    /// A batch of the module's output.
    ModuleOutput(ModuleOutput),
    /// A log line.
    Line(LogLevel, String),
}

/// A checked batch of output.
#[derive(Debug)]
pub(crate) enum ModuleOutput {
    /// Items.
    Items(Vec<FlatItem>),
    /// Rulings with the numbers of their items.
    Rulings(Vec<(u64, Ruling)>),
    /// Checks.
    Checks(Vec<Check>),
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

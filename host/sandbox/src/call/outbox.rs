//! The way out of a running call, to the thread that asked for it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plumbline_core::item::FlatItem;
use plumbline_core::{Check, Ruling};

use crate::call::io::LogLevel;
use crate::failure::Stop;

/// Batches that wait between module and sink: enough that both work at the same time, and few enough that a hostile module cannot
/// fill the host's memory with them.
const WAITING: usize = 2;

/// What leaves a call.
#[derive(Debug)]
pub(crate) enum Message {
    /// A batch of what the module is there to say.
    Said(Said),
    /// A line of the log.
    Line(LogLevel, String),
}

/// A batch, checked.
#[derive(Debug)]
pub(crate) enum Said {
    /// Items.
    Items(Vec<FlatItem>),
    /// Rulings, with the numbers of what they are on.
    Rulings(Vec<(u64, Ruling)>),
    /// Checks.
    Checks(Vec<Check>),
}

/// Where messages are put. Blocks while the other side is behind.
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

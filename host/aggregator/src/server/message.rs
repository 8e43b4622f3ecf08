//! Small bodies: progress updates, hellos, heartbeats and error documents. All of them together take
//! limited memory while they arrive.

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use plumbline_core::PluginName;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::receive::Receiver;
use super::response::{ReceiveError, drain_after};
use super::shares::Share;

/// Size in bytes above which messages are parsed one at a time.
const LONG: usize = 16 << 10;

/// A small body, and its share of the memory.
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    memory: Share,
}

impl Receiver {
    /// Reads a small body of a worker of `plugin` completely.
    pub(super) async fn read_message(
        &self,
        plugin: &PluginName,
        body: Body,
        limit: u64,
    ) -> Result<Message, ReceiveError> {
        let mut stream = body.into_data_stream();
        let collected = timeout(self.limits.idle(), self.collect(plugin, &mut stream, limit)).await;
        let message = collected.unwrap_or(Err(ReceiveError::Idle(self.limits.idle_seconds)));
        if let Err(error) = &message {
            drain_after(error, &mut stream).await;
        }
        message
    }

    async fn collect(
        &self,
        plugin: &PluginName,
        stream: &mut BodyDataStream,
        limit: u64,
    ) -> Result<Message, ReceiveError> {
        let mut message = Message { bytes: Vec::new(), memory: self.memory.of(plugin.as_str()) };
        while let Some(frame) = stream.next().await.transpose().map_err(ReceiveError::Broken)? {
            if (message.bytes.len() + frame.len()) as u64 > limit {
                return Err(ReceiveError::TooLarge(limit));
            }
            if !message.memory.grow(frame.len()) {
                return Err(ReceiveError::Busy);
            }
            // A frame keeps a whole buffer of the connection in memory, even if it has one byte.
            message.bytes.extend_from_slice(&frame);
        }
        Ok(message)
    }

    /// Waits until `message` may be parsed. A long one may take a hundred times its size in memory
    /// meanwhile.
    pub(super) async fn turn_to_parse(&self, message: &Message) -> Option<SemaphorePermit<'_>> {
        if message.bytes.len() <= LONG {
            return None;
        }
        // The semaphore is never closed.
        self.parsing.acquire().await.ok()
    }
}

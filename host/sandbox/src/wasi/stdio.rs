//! Standard output and standard error of a guest, which become lines of the log.

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use crate::call::lines::{Lines, Stream};

/// The maximum number of bytes that a guest may write at once.
const PERMIT: usize = 64 << 10;

/// One of the two streams.
#[derive(Debug, Clone)]
pub(super) struct Pipe {
    lines: Lines,
    stream: Stream,
}

impl Pipe {
    pub(super) fn new(lines: Lines, stream: Stream) -> Self {
        Self { lines, stream }
    }
}

impl IsTerminal for Pipe {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Pipe {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    /// Only needed for WASI 0.3, which is not provided.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

impl OutputStream for Pipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.lines.stream(self.stream, &bytes).map_err(|stop| StreamError::Trap(stop.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Pipe {
    /// Returns immediately, because excess output is dropped and never waits.
    async fn ready(&mut self) {}
}

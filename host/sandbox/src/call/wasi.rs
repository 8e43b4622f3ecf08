//! The WASI state of a call. Standard output and standard error go to the size-limited log of the
//! call.

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView};

use crate::call::limits::{Clock, Meter};
use crate::call::lines::{Lines, Stream};
use crate::wasi::OpenFiles;

/// The maximum number of host resources that a module may hold through WASI at once: streams,
/// timers, errors.
const MAX_RESOURCES: usize = 10_000;
/// The maximum number of random bytes per call.
const MAX_RANDOM: u64 = 1 << 20;

/// The WASI state, created on first use. Most modules never use it.
pub(crate) struct WasiState {
    /// Has the directories and variables that a check may read.
    granted: WasiCtxBuilder,
    lines: Lines,
    pub(crate) clock: Clock,
    pub(crate) meter: Meter,
    pub(crate) open: OpenFiles,
    made: Option<(WasiCtx, ResourceTable)>,
}

impl WasiState {
    pub(crate) fn new(granted: WasiCtxBuilder, lines: Lines, clock: Clock, meter: Meter) -> Self {
        Self { granted, lines, clock, meter, open: OpenFiles::default(), made: None }
    }

    pub(crate) fn view(&mut self) -> WasiCtxView<'_> {
        self.view_with_open().0
    }

    /// Returns the view, and what is open in it.
    pub(crate) fn view_with_open(&mut self) -> (WasiCtxView<'_>, &mut OpenFiles) {
        let Self { granted, lines, open, made, .. } = self;
        let (ctx, table) = made.get_or_insert_with(|| {
            granted
                .stdout(Pipe { lines: lines.clone(), stream: Stream::Out })
                .stderr(Pipe { lines: lines.clone(), stream: Stream::Err })
                .max_random_size(MAX_RANDOM);
            let mut table = ResourceTable::new();
            table.set_max_capacity(MAX_RESOURCES);
            (granted.build(), table)
        });
        (WasiCtxView { ctx, table }, open)
    }
}

/// The maximum number of bytes that a guest may write at once.
const PERMIT: usize = 64 << 10;

#[derive(Debug, Clone)]
struct Pipe {
    lines: Lines,
    stream: Stream,
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

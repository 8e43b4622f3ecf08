//! The WASI state of one call.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView};

use super::stdio::Pipe;
use crate::call::clock::Clock;
use crate::call::lines::{Lines, Stream};

/// The maximum number of host resources that a module may hold through WASI at once: streams,
/// timers, errors.
const MAX_RESOURCES: usize = 10_000;
/// The maximum number of random bytes per call.
const MAX_RANDOM: u64 = 1 << 20;

/// The WASI state, created on first use. Most modules never use it.
pub(crate) struct WasiState {
    lines: Lines,
    pub(super) clock: Clock,
    made: Option<Made>,
}

struct Made {
    context: WasiCtx,
    table: ResourceTable,
}

impl WasiState {
    pub(crate) fn new(lines: Lines, clock: Clock) -> Self {
        Self { lines, clock, made: None }
    }

    pub(super) fn view(&mut self) -> WasiCtxView<'_> {
        let made = self.made.get_or_insert_with(|| {
            let mut context = WasiCtx::builder();
            context
                .stdout(Pipe::new(self.lines.clone(), Stream::Out))
                .stderr(Pipe::new(self.lines.clone(), Stream::Err))
                .max_random_size(MAX_RANDOM);
            let mut table = ResourceTable::new();
            table.set_max_capacity(MAX_RESOURCES);
            Made { context: context.build(), table }
        });
        WasiCtxView { ctx: &mut made.context, table: &mut made.table }
    }
}

//! The state of WASI in one call.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::clocks::WasiClocksView as _;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::stdio::Pipe;
use super::timers::Timers;
use crate::call::clock::Clock;
use crate::call::lines::{Lines, Stream};
use crate::call::state::CallState;

/// Things of the host that a module may hold through WASI at once: streams, timers, errors.
const MAX_RESOURCES: usize = 10_000;
/// Random bytes that one call gives.
const MAX_RANDOM: u64 = 1 << 20;

/// Made when it is first used: a module without WASI never does, and most have none.
pub(crate) struct WasiState {
    lines: Lines,
    clock: Clock,
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

    fn view(&mut self) -> WasiCtxView<'_> {
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

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.view()
    }
}

impl CallState {
    /// The clock that ticks for modules: no timer outlives the call.
    pub(super) fn timers(&mut self) -> Timers<'_> {
        let clock = self.wasi.clock.clone();
        Timers { clocks: self.clocks(), clock }
    }
}

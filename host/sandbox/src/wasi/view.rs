//! The WASI view of a call.

use wasmtime_wasi::clocks::WasiClocksView as _;
use wasmtime_wasi::{WasiCtxView, WasiView};

use super::timers::Timers;
use crate::call::state::CallState;

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.view()
    }
}

impl CallState {
    /// Returns the clock for modules, whose timers do not outlive the call.
    pub(super) fn timers(&mut self) -> Timers<'_> {
        let clock = self.wasi.clock.clone();
        Timers { clocks: self.clocks(), clock }
    }
}

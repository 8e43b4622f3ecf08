//! What the host keeps beside an instance while a call runs: the data of its store.

use plumbline_core::ModuleLimits;
use wasmtime::UpdateDeadline;

use crate::call::clock::Clock;
use crate::call::emit::{Emitter, RawItem};
use crate::call::files::Files;
use crate::call::io::{CallStats, Input};
use crate::call::limiter::Limiter;
use crate::call::lines::Lines;
use crate::call::outbox::{Message, Outbox};
use crate::call::results::Results;
use crate::call::stop::Stop;
use crate::wasi::WasiState;

/// Handles to resources that a module may hold beside its files. WASI hands some out for clocks and streams.
const MAX_HANDLES: usize = 10_000;

/// The data of a call's store.
pub(crate) struct CallState {
    pub(crate) clock: Clock,
    pub(crate) limiter: Limiter,
    pub(crate) files: Files,
    pub(crate) results: Results,
    pub(crate) lines: Lines,
    pub(crate) wasi: WasiState,
    /// `None`: this call is not one that emits items.
    emitter: Option<Emitter>,
    outbox: Outbox,
}

impl CallState {
    /// A call with nothing to read emits nothing either.
    pub(crate) fn new(limits: &ModuleLimits, input: Input, clock: Clock, outbox: Outbox) -> Self {
        let emitter = (!matches!(input, Input::Nothing)).then(|| Emitter::new(limits));
        let (files, results) = match input {
            Input::Nothing => (Vec::new(), None),
            Input::Files(files) => (files, None),
            Input::Results(results) => (Vec::new(), Some(results)),
        };
        let lines = Lines::new(outbox.clone(), limits.log_bytes);
        Self {
            limiter: Limiter::new(limits.memory, limits.table_elements),
            files: Files::new(files, limits.input_bytes),
            results: Results::new(results, limits.input_bytes),
            wasi: WasiState::new(lines.clone(), clock.clone()),
            clock,
            lines,
            emitter,
            outbox,
        }
    }

    /// A store for one instance, with every limit in place before anything of the module runs.
    pub(crate) fn into_store(self, engine: &wasmtime::Engine, limits: &ModuleLimits) -> wasmtime::Store<Self> {
        let handles = self.files.len().saturating_add(MAX_HANDLES);
        let mut store = wasmtime::Store::new(engine, self);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(usize::try_from(limits.hostcall_bytes).unwrap_or(usize::MAX));
        store.set_max_component_handles(handles);
        // At every tick the guest looks at the real clock: a tick that comes late or not at all then delays the end, and never
        // moves it.
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| {
            context.data().clock.check()?;
            Ok(UpdateDeadline::Continue(1))
        });
        store
    }

    /// Items of one batch: all are checked before the first goes out.
    pub(crate) fn emit(&mut self, batch: impl ExactSizeIterator<Item = RawItem>) -> Result<(), Stop> {
        self.clock.check()?;
        let Some(emitter) = &mut self.emitter else {
            return Err(Stop::rubbish(
                "only post-processors and summarizers emit items",
                "`emit` was called while results were to be named",
            ));
        };
        let mut items = Vec::with_capacity(batch.len());
        for raw in batch {
            items.push(emitter.check(raw)?);
        }
        if items.is_empty() {
            return Ok(());
        }
        self.outbox.send(Message::Items(items))
    }

    /// Sends what is left of the log and says what the call used.
    pub(crate) fn finish(&mut self) -> CallStats {
        CallStats {
            log_dropped: self.lines.finish(),
            wall: self.clock.elapsed(),
            memory: self.limiter.memory(),
            input_bytes: self.files.bytes_read().saturating_add(self.results.bytes_read()),
            items: self.emitter.as_ref().map_or(0, Emitter::items),
            output_bytes: self.emitter.as_ref().map_or(0, Emitter::bytes),
        }
    }
}

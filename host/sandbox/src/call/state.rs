//! The host's state during a call: the data of its store.

use plumbline_core::{Check, ModuleLimits, Ruling};
use wasmtime::UpdateDeadline;

use crate::call::clock::Clock;
use crate::call::emit::{Emitter, RawItem};
use crate::call::files::Files;
use crate::call::io::{CallStats, Entry, Input, TreeItem};
use crate::call::judgement::{self, Ruler};
use crate::call::limiter::Limiter;
use crate::call::lines::Lines;
use crate::call::outbox::{Message, ModuleOutput, Outbox};
use crate::call::reading::{self, Reading};
use crate::failure::Stop;
use crate::wasi::WasiState;

/// The maximum number of resource handles of a module, besides its files. WASI uses handles for
/// clocks and streams.
const MAX_HANDLES: usize = 10_000;

/// The data of a call's store.
pub(crate) struct CallState {
    pub(crate) clock: Clock,
    pub(crate) limiter: Limiter,
    pub(crate) files: Files,
    pub(crate) results: Reading<Entry>,
    pub(crate) tree: Reading<TreeItem>,
    pub(crate) lines: Lines,
    pub(crate) wasi: WasiState,
    /// `None` if the role of the call does not emit items.
    emitter: Option<Emitter>,
    /// `None` if the call is not that of a judge.
    ruler: Option<Ruler>,
    outbox: Outbox,
}

impl CallState {
    /// Creates the state of a call. A call without anything to read cannot emit anything.
    pub(crate) fn new(limits: &ModuleLimits, input: Input, clock: Clock, outbox: Outbox) -> Self {
        let emitter = matches!(input, Input::Files(_) | Input::Results(_)).then(|| Emitter::new(limits));
        let ruler = matches!(input, Input::Tree(..)).then(|| Ruler::new(limits));
        let (files, results, tree) = match input {
            Input::Nothing => (Vec::new(), None, None),
            Input::Files(files) => (files, None, None),
            Input::Results(results) => (Vec::new(), Some(reading::results(results)), None),
            Input::Tree(tree, evidence) => (evidence, None, Some(judgement::tree(tree))),
        };
        let lines = Lines::new(outbox.clone(), limits.log_bytes);
        Self {
            limiter: Limiter::new(limits.memory, limits.table_elements),
            files: Files::new(files, limits.input_bytes),
            results: Reading::new(results, limits.input_bytes),
            tree: Reading::new(tree, limits.input_bytes),
            wasi: WasiState::new(lines.clone(), clock.clone()),
            clock,
            lines,
            emitter,
            ruler,
            outbox,
        }
    }

    /// Creates a store for one instance. Every limit is in place before any code of the module
    /// runs.
    pub(crate) fn into_store(self, engine: &wasmtime::Engine, limits: &ModuleLimits) -> wasmtime::Store<Self> {
        let handles = self.files.len().saturating_add(MAX_HANDLES);
        let mut store = wasmtime::Store::new(engine, self);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(usize::try_from(limits.hostcall_bytes).unwrap_or(usize::MAX));
        store.set_max_component_handles(handles);
        // The guest checks the real clock at every tick. A late or missing tick therefore delays
        // the end of a call, but never moves the deadline.
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| {
            context.data().clock.check()?;
            Ok(UpdateDeadline::Continue(1))
        });
        store
    }

    /// Emits the items of one batch. All of them are checked before the first is sent.
    pub(crate) fn emit(&mut self, batch: impl ExactSizeIterator<Item = RawItem>) -> Result<(), Stop> {
        self.clock.check()?;
        let Some(emitter) = &mut self.emitter else {
            return Err(Stop::rubbish(
                "only post-processors and summarizers emit items",
                "`emit` was called in another role",
            ));
        };
        let mut items = Vec::with_capacity(batch.len());
        for raw in batch {
            items.push(emitter.check(raw)?);
        }
        self.send(items, ModuleOutput::Items)
    }

    /// Returns the next items of the finished tree with their numbers, or none at the end. The
    /// inner error is passed to the module.
    pub(crate) fn next_of_tree(&mut self, max: u32) -> Result<Result<Vec<(u64, TreeItem)>, String>, Stop> {
        let batch = self.tree.next(max, &self.clock)?;
        // Only the call of a judge has a tree.
        let Some(ruler) = &mut self.ruler else { return Ok(Ok(Vec::new())) };
        Ok(batch.map(|items| items.into_iter().map(|item| (ruler.give(item.leaf), item)).collect()))
    }

    /// Makes the rulings of one batch. All of them are checked before the first is sent.
    pub(crate) fn rule(&mut self, batch: impl ExactSizeIterator<Item = (u64, Ruling)>) -> Result<(), Stop> {
        self.clock.check()?;
        let ruler = self.ruler.as_mut().ok_or_else(|| no_judge("rule"))?;
        let mut rulings = Vec::with_capacity(batch.len());
        for (index, ruling) in batch {
            rulings.push(ruler.ruling(index, ruling)?);
        }
        self.send(rulings, ModuleOutput::Rulings)
    }

    /// Reports the checks of one batch. All of them are validated before the first is sent.
    pub(crate) fn report(&mut self, batch: impl ExactSizeIterator<Item = Check>) -> Result<(), Stop> {
        self.clock.check()?;
        let ruler = self.ruler.as_mut().ok_or_else(|| no_judge("report"))?;
        let mut checks = Vec::with_capacity(batch.len());
        for check in batch {
            checks.push(ruler.check(check)?);
        }
        self.send(checks, ModuleOutput::Checks)
    }

    fn send<T>(&self, batch: Vec<T>, said: impl FnOnce(Vec<T>) -> ModuleOutput) -> Result<(), Stop> {
        if batch.is_empty() { Ok(()) } else { self.outbox.send(Message::ModuleOutput(said(batch))) }
    }

    /// Sends the rest of the log and returns the resources that the call used.
    pub(crate) fn finish(&mut self) -> CallStats {
        CallStats {
            log_dropped: self.lines.finish(),
            wall: self.clock.elapsed(),
            memory: self.limiter.memory(),
            input_bytes: [self.results.bytes_read(), self.tree.bytes_read()]
                .into_iter()
                .fold(self.files.bytes_read(), u64::saturating_add),
            items: self.emitter.as_ref().map_or(0, Emitter::items) + self.ruler.as_ref().map_or(0, Ruler::said),
            output_bytes: self.emitter.as_ref().map_or(0, Emitter::bytes) + self.ruler.as_ref().map_or(0, Ruler::bytes),
        }
    }
}

fn no_judge(function: &str) -> Stop {
    Stop::rubbish("only judges rule on items and report checks", format!("`{function}` was called in another role"))
}

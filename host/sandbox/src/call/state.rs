//! The host's state during a call: the data of its store.

use std::time::Instant;

use plumbline_core::{Check, ModuleLimits, Ruling};
use wasmtime::UpdateDeadline;
use wasmtime_wasi::WasiCtxBuilder;

use crate::call::channel::{Message, Outbox};
use crate::call::cluster::Cluster;
use crate::call::emit::Emitter;
use crate::call::input::{Files, Next, Reading};
use crate::call::io::{CallStats, CheckProgress, Entry, Granted, Input, TreeItem};
use crate::call::judgement::Ruler;
use crate::call::limits::{Clock, Limiter, Meter};
use crate::call::lines::Lines;
use crate::call::network::Reach;
use crate::call::reports::Reports;
use crate::call::wasi::WasiState;
use crate::failure::Stop;
use crate::generation::v0_1::RawItem;
use crate::wasi::Directories;

/// The maximum number of resource handles of a module, in addition to its files. WASI uses
/// handles for clocks and streams.
const MAX_HANDLES: usize = 10_000;

pub(crate) struct CallState {
    pub(crate) clock: Clock,
    pub(crate) limiter: Limiter,
    pub(crate) files: Files,
    pub(crate) results: Reading<Entry>,
    pub(crate) tree: Reading<TreeItem>,
    pub(crate) lines: Lines,
    pub(crate) wasi: WasiState,
    pub(crate) cluster: Cluster,
    pub(crate) directories: Directories,
    pub(crate) reach: Reach,
    /// What a check has read.
    pub(crate) meter: Meter,
    /// `None` if the role of the call does not emit items.
    emitter: Option<Emitter>,
    /// `None` if the call is not that of a judge.
    ruler: Option<Ruler>,
    /// `None` if the call is not that of a check.
    reports: Option<Reports>,
    outbox: Outbox,
}

impl CallState {
    /// Creates the state of a call. A call without anything to read cannot emit anything.
    pub(crate) fn new(limits: &ModuleLimits, input: Input, clock: Clock, outbox: Outbox) -> Self {
        let emits = matches!(input, Input::Files(_) | Input::Results(_) | Input::Check(_));
        let emitter = emits.then(|| Emitter::new(limits));
        let ruler = matches!(input, Input::Tree(..)).then(|| Ruler::new(limits));
        let reports = matches!(input, Input::Check(_)).then(|| Reports::new(outbox.clone()));
        let (mut wasi, mut directories) = (WasiCtxBuilder::new(), Directories::default());
        let (mut cluster, mut reach) = (Cluster::of_another_role(), Reach::OtherRole);
        let (files, results, tree): (_, Option<Next<Entry>>, Option<Next<TreeItem>>) = match input {
            Input::Nothing => (Vec::new(), None, None),
            Input::Check(granted) => {
                let Granted { wasi: granted, directories: opened, cluster: reader, network } = *granted;
                (wasi, directories) = (granted, opened);
                (cluster, reach) = (Cluster::of_a_check(reader), Reach::of_a_check(network));
                (Vec::new(), None, None)
            }
            Input::Files(files) => (files, None, None),
            Input::Results(mut results) => (Vec::new(), Some(Box::new(move || results.next())), None),
            Input::Tree(mut tree, evidence) => (evidence, None, Some(Box::new(move || tree.next()))),
        };
        let lines = Lines::new(outbox.clone(), limits.log_bytes);
        let meter = Meter::new(limits.input_bytes);
        Self {
            limiter: Limiter::new(limits.memory, limits.table_elements),
            files: Files::new(files, limits.input_bytes),
            results: Reading::new(results, limits.input_bytes),
            tree: Reading::new(tree, limits.input_bytes),
            wasi: WasiState::new(wasi, lines.clone(), clock.clone(), meter.clone()),
            cluster,
            directories,
            reach,
            meter,
            clock,
            lines,
            emitter,
            ruler,
            reports,
            outbox,
        }
    }

    /// Creates a store for one instance. Every limit is in place before any code of the module
    /// runs.
    pub(crate) fn into_store(self, engine: &wasmtime::Engine, limits: &ModuleLimits) -> wasmtime::Store<Self> {
        let handles = self.files.files.len().saturating_add(MAX_HANDLES);
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
    pub(crate) fn emit(&mut self, batch: Vec<RawItem>) -> Result<(), Stop> {
        self.clock.check()?;
        let Some(emitter) = &mut self.emitter else {
            return Err(Stop::rubbish(
                "only post-processors, summarizers and checks emit items",
                "`emit` was called in another role",
            ));
        };
        let items = batch.into_iter().map(|raw| emitter.check(raw)).collect::<Result<_, _>>()?;
        self.send(items, Message::Items)
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
    pub(crate) fn rule(&mut self, batch: impl Iterator<Item = (u64, Ruling)>) -> Result<(), Stop> {
        self.clock.check()?;
        let ruler = self.ruler.as_mut().ok_or_else(|| no_judge("rule"))?;
        let rulings = batch.map(|(index, ruling)| ruler.ruling(index, ruling)).collect::<Result<_, _>>()?;
        self.send(rulings, Message::Rulings)
    }

    /// Reports the checks of one batch. All of them are validated before the first is sent.
    pub(crate) fn report(&mut self, batch: impl Iterator<Item = Check>) -> Result<(), Stop> {
        self.clock.check()?;
        let ruler = self.ruler.as_mut().ok_or_else(|| no_judge("report"))?;
        let checks = batch.map(|check| ruler.check(check)).collect::<Result<_, _>>()?;
        self.send(checks, Message::Checks)
    }

    pub(crate) fn report_progress(&mut self, progress: CheckProgress) -> Result<(), Stop> {
        self.clock.check()?;
        let Some(reports) = &mut self.reports else {
            return Err(Stop::rubbish("only a check can report progress", "`report` was called in another role"));
        };
        reports.report(progress, Instant::now())
    }

    fn send<T>(&self, batch: Vec<T>, message: impl FnOnce(Vec<T>) -> Message) -> Result<(), Stop> {
        if batch.is_empty() { Ok(()) } else { self.outbox.send(message(batch)) }
    }

    /// Sends the rest of the log and returns the resources that the call used.
    pub(crate) fn finish(&mut self) -> CallStats {
        if let Some(reports) = &mut self.reports {
            reports.finish();
        }
        let read = [self.files.read, self.results.read, self.tree.read, self.meter.read()];
        CallStats {
            log_dropped: self.lines.finish(),
            wall: self.clock.start.elapsed(),
            memory: self.limiter.memory.used,
            input_bytes: read.into_iter().fold(0, u64::saturating_add),
            items: self.emitter.as_ref().map_or(0, |emitter| emitter.items)
                + self.ruler.as_ref().map_or(0, |ruler| ruler.items),
            output_bytes: self.emitter.as_ref().map_or(0, |emitter| emitter.bytes)
                + self.ruler.as_ref().map_or(0, |ruler| ruler.bytes),
        }
    }
}

fn no_judge(function: &str) -> Stop {
    Stop::rubbish("only judges rule on items and report checks", format!("`{function}` was called in another role"))
}

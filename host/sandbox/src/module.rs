//! A module that is ready to be called.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plumbline_core::{ModuleLimits, NodeName};
use wasmtime::Store;

use crate::call::clock::Clock;
use crate::call::io::{CallStats, Expect, Input, ItemSink, Judge, LogSink, PostProcess, RulingSink, Summarize};
use crate::call::outbox::Outbox;
use crate::call::sink::Sink;
use crate::call::state::CallState;
use crate::call::thread;
use crate::engine::HOST_STACK;
use crate::failure::{MAX_SENTENCE, ModuleFailure, cut};
use crate::generation::v0_1::{Answer, Bound};
use crate::host::Host;
use crate::inspect::ModuleInfo;

/// A component, compiled and linked. Cheap to clone; calls may run from any number of threads, each in an instance of its own.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    info: ModuleInfo,
    bound: Bound,
    host: Arc<Host>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("name", &self.inner.name).field("info", &self.inner.info).finish_non_exhaustive()
    }
}

impl Module {
    pub(crate) fn new(name: String, info: ModuleInfo, bound: Bound, host: Arc<Host>) -> Self {
        Self { inner: Arc::new(Inner { name, info, bound, host }) }
    }

    /// The name that it was loaded under, and that failures call it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &ModuleInfo {
        &self.inner.info
    }

    /// Turns files into items, which go to `sink` as they come, on this thread. Blocks until the module is done; waits first if
    /// [`max_instances`](crate::SandboxConfig::max_instances) calls are running.
    ///
    /// # Errors
    /// What the module did wrong, its own sentence ([`ModuleFailure::Refused`]), or that `sink` failed ([`ModuleFailure::Host`]). What
    /// went to `sink` before stays there and is a tree: batches are checked whole before their first item goes out.
    pub fn post_process(
        &self,
        call: PostProcess<'_>,
        sink: &mut dyn ItemSink,
        log: &mut dyn LogSink,
    ) -> Result<CallStats, ModuleFailure> {
        let PostProcess { plugin, files, limits } = call;
        let role = |bound: &Bound, store: &mut Store<CallState>| bound.process(store, plugin);
        self.call("post-processor", limits, Input::Files(files), Sink::Items(sink), log, role).map(|((), stats)| stats)
    }

    /// Reads the items of all result sets of a plugin and says what they come to, in further items, which go to `sink` as they come.
    /// Blocks like [`Module::post_process`].
    ///
    /// # Errors
    /// As for [`Module::post_process`]. When `call.results` fails, the module is told, and decides what comes of it.
    pub fn summarize(
        &self,
        call: Summarize<'_>,
        sink: &mut dyn ItemSink,
        log: &mut dyn LogSink,
    ) -> Result<CallStats, ModuleFailure> {
        let Summarize { plugin, results, limits } = call;
        let role = |bound: &Bound, store: &mut Store<CallState>| bound.summarize(store, plugin);
        self.call("summarizer", limits, Input::Results(results), Sink::Items(sink), log, role).map(|((), stats)| stats)
    }

    /// Reads the finished tree of a plugin, and says what of it counts: rulings and checks, which go to `to` as they come, on this thread.
    /// Blocks like [`Module::post_process`].
    ///
    /// # Errors
    /// As for [`Module::post_process`]; what went to `to` before keeps to the rules of the contract. When `call.tree` or a file fails,
    /// the module is told, and decides what comes of it.
    pub fn judge(
        &self,
        call: Judge<'_>,
        to: &mut dyn RulingSink,
        log: &mut dyn LogSink,
    ) -> Result<CallStats, ModuleFailure> {
        let Judge { plugin, tree, evidence, limits } = call;
        let role = |bound: &Bound, store: &mut Store<CallState>| bound.judge(store, plugin);
        self.call("judge", limits, Input::Tree(tree, evidence), Sink::Rulings(to), log, role).map(|((), stats)| stats)
    }

    /// The results that must arrive: each once, in the module's order, all of nodes in `call.nodes`. Blocks like
    /// [`Module::post_process`].
    ///
    /// # Errors
    /// What the module did wrong, or its own sentence ([`ModuleFailure::Refused`]).
    pub fn expected_results(&self, call: Expect<'_>, log: &mut dyn LogSink) -> Result<Vec<NodeName>, ModuleFailure> {
        self.expect(call, log).map(|(names, _)| names)
    }

    /// [`Module::expected_results`], and what the call used.
    ///
    /// # Errors
    /// As for [`Module::expected_results`].
    pub fn expect(&self, call: Expect<'_>, log: &mut dyn LogSink) -> Result<(Vec<NodeName>, CallStats), ModuleFailure> {
        let role = |bound: &Bound, store: &mut Store<CallState>| bound.expected_results(store, &call);
        self.call("expectations", call.limits, Input::Nothing, Sink::Nothing, log, role)
    }

    /// One call in a fresh instance. `role` gives `None` if the module does not play it.
    fn call<T: Send>(
        &self,
        role_name: &'static str,
        limits: &ModuleLimits,
        input: Input,
        sink: Sink<'_>,
        log: &mut dyn LogSink,
        role: impl FnOnce(&Bound, &mut Store<CallState>) -> Option<Answer<T>> + Send,
    ) -> Result<(T, CallStats), ModuleFailure> {
        let Inner { name, bound, host, .. } = &*self.inner;
        let limits = host.effective(limits);
        let _slot = host.slots.take(limits.memory);
        let _running = host.ticker.running();
        let stack = host.config.stack.saturating_add(HOST_STACK);
        let run = |outbox: Outbox, given_up: Arc<AtomicBool>| {
            let clock = Clock::start(limits.wall_seconds, given_up);
            let mut store = CallState::new(&limits, input, clock, outbox).into_store(&host.engine, &limits);
            let answer = role(bound, &mut store).map(|answer| {
                let answer = answer?;
                // A guest that slept until its time was over has not been stopped by the epoch.
                store.data().clock.check()?;
                Ok(answer)
            });
            (answer, store.data_mut().finish())
        };
        let (answer, stats) = thread::run(stack, sink, log, run).map_err(ModuleFailure::Host)?;
        match answer {
            None => Err(ModuleFailure::NoRole { module: name.clone(), role: role_name }),
            Some(Ok(Ok(value))) => Ok((value, stats)),
            Some(Ok(Err(sentence))) => Err(ModuleFailure::Refused(cut(&sentence, MAX_SENTENCE))),
            Some(Err(error)) => Err(ModuleFailure::from_engine(name, &limits, &error)),
        }
    }
}

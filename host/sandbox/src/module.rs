//! A module that is ready to be called, and the host that it runs on.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use plumbline_core::{ModuleLimits, NodeName};
use wasmtime::component::Linker;
use wasmtime::{Engine, Store};

use crate::cache::Cache;
use crate::call::channel::{self, Outbox, Sink};
use crate::call::io::{
    CallStats, CheckSink, Expect, Granted, Input, ItemSink, Judge, LogSink, PostProcess, RulingSink, RunCheck,
    Summarize,
};
use crate::call::limits::Clock;
use crate::call::state::CallState;
use crate::config::SandboxConfig;
use crate::engine::HOST_STACK;
use crate::failure::{MAX_SENTENCE, ModuleFailure, cut};
use crate::generation::v0_1::{Answer, Bound};
use crate::inspect::ModuleInfo;
use crate::slots::Slots;
use crate::ticker::Ticker;
use crate::wasi::granted;

/// The engine of a sandbox, with its limits, cache and statistics.
pub(crate) struct Host {
    pub(crate) config: SandboxConfig,
    pub(crate) engine: Engine,
    pub(crate) slots: Slots,
    pub(crate) ticker: Ticker,
    pub(crate) fingerprint: [u8; 32],
    /// The fingerprint of the engine for precompiled code, created on first use.
    pub(crate) portable: OnceLock<[u8; 32]>,
    pub(crate) cache: Option<Cache>,
    /// The linkers for modules without and with WASI.
    pub(crate) plain: Linker<CallState>,
    pub(crate) with_wasi: Linker<CallState>,
    pub(crate) compiled: AtomicU64,
    pub(crate) cached: AtomicU64,
    pub(crate) brought_along: AtomicU64,
}

/// A compiled and linked component. It is cheap to clone. Calls may run from any number of threads,
/// each in its own instance.
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

    /// Returns the name under which it was loaded, which errors use.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the metadata of the module.
    pub fn info(&self) -> &ModuleInfo {
        &self.inner.info
    }

    /// Turns files into items and passes them to `sink` as they arrive, on this thread. Blocks
    /// until the module is done. If [`max_instances`](crate::SandboxConfig::max_instances) calls
    /// are running, it waits for one of them first.
    ///
    /// # Errors
    /// Returns an error if the module violates a rule or exceeds a limit, if it returns an error
    /// itself ([`ModuleFailure::Refused`]), or if `sink` fails ([`ModuleFailure::Host`]). Items
    /// that `sink` already received form a tree, because a batch is checked completely before its
    /// first item is passed on.
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

    /// Reads the items of all result sets of a plugin and passes the summary to `sink` as further
    /// items. Blocks like [`Module::post_process`].
    ///
    /// # Errors
    /// Returns the same errors as [`Module::post_process`]. An error of `call.results` is passed to
    /// the module, which decides how to proceed.
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

    /// Reads the finished tree of a plugin and decides what in it counts. Rulings and checks are
    /// passed to `to` as they arrive, on this thread. Blocks like [`Module::post_process`].
    ///
    /// # Errors
    /// Returns the same errors as [`Module::post_process`]. What `to` already received follows the
    /// rules of the contract. An error of `call.tree` or a file is passed to the module, which
    /// decides how to proceed.
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

    /// Returns the expected results without duplicates, in the module's order, and the resources
    /// that the call used. All of them are nodes in `call.nodes`, or the whole cluster. Blocks like
    /// [`Module::post_process`].
    ///
    /// # Errors
    /// Returns an error if the module violates a rule or exceeds a limit, or if it returns an error
    /// itself ([`ModuleFailure::Refused`]).
    pub fn expect(&self, call: Expect<'_>, log: &mut dyn LogSink) -> Result<(Vec<NodeName>, CallStats), ModuleFailure> {
        let role = |bound: &Bound, store: &mut Store<CallState>| bound.expected_results(store, &call);
        self.call("expectations", call.limits, Input::Nothing, Sink::Nothing, log, role)
    }

    /// Runs a check, and passes its items and progress to `sink` as they arrive, on this thread.
    /// Blocks like [`Module::post_process`].
    ///
    /// A directory that does not exist is left out. In one that cannot be opened, nothing is permitted.
    /// The log says so.
    ///
    /// The limits on time end a check that computes or calls the host, but not a read that waits for
    /// data, such as that of `/proc/kmsg`. The caller therefore runs a check in a process of its
    /// own, and kills it at its deadline.
    ///
    /// # Errors
    /// Returns the same errors as [`Module::post_process`]. An error of `call.cluster` is passed to the
    /// module.
    pub fn run_check(
        &self,
        call: RunCheck<'_>,
        sink: &mut dyn CheckSink,
        log: &mut dyn LogSink,
    ) -> Result<CallStats, ModuleFailure> {
        let RunCheck { plugin, directories, env, now, cluster, network, owners, limits } = call;
        let (wasi, directories) = granted(&directories, &env, now, owners, log).map_err(ModuleFailure::Host)?;
        let input = Input::Check(Box::new(Granted { wasi, directories, cluster, network }));
        let role = |bound: &Bound, store: &mut Store<CallState>| bound.run_check(store, plugin);
        self.call("check", limits, input, Sink::Check(sink), log, role).map(|((), stats)| stats)
    }

    /// Makes one call in a new instance. `role` returns `None` if the module does not implement it.
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
        // Slots have a fixed size, and the stack is the same for all.
        let limits = ModuleLimits {
            memory: limits.memory.min(host.config.max_memory),
            table_elements: limits.table_elements.min(u64::from(host.config.max_table_elements)),
            stack: host.config.stack as u64,
            ..limits.clone()
        };
        let _slot = host.slots.take(1, limits.memory);
        let _running = host.ticker.running();
        let stack = host.config.stack.saturating_add(HOST_STACK);
        let run = |outbox: Outbox, given_up: Arc<AtomicBool>| {
            let clock = Clock::start(limits.wall_seconds, given_up);
            let mut store = CallState::new(&limits, input, clock, outbox).into_store(&host.engine, &limits);
            let answer = role(bound, &mut store).map(|answer| {
                let answer = answer?;
                // The epoch does not stop a guest that sleeps until its time is over.
                store.data().clock.check()?;
                Ok(answer)
            });
            (answer, store.data_mut().finish())
        };
        let (answer, stats) = channel::run(stack, sink, log, run).map_err(ModuleFailure::Host)?;
        match answer {
            None => Err(ModuleFailure::NoRole { module: name.clone(), role: role_name }),
            Some(Ok(Ok(value))) => Ok((value, stats)),
            Some(Ok(Err(sentence))) => Err(ModuleFailure::Refused(cut(&sentence, MAX_SENTENCE))),
            Some(Err(error)) => Err(ModuleFailure::from_engine(name, &limits, &error)),
        }
    }
}

//! The clock of the engine, which advances its epoch while calls are running.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::Engine;

/// How often running guests check the time. This enforces a limit of one second to within a
/// percent, at negligible cost.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// A thread that advances the epoch of an engine every [`TICK`] while a call is running. Dropping
/// this value ends the thread.
///
/// Ticks that were missed because the machine was busy or asleep are not made up for: a burst of
/// them would end calls that had no time to run.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    ended: bool,
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (theirs, engine) = (Arc::clone(&shared), engine.weak());
        let thread = std::thread::Builder::new().name("module-ticker".into()).spawn(move || {
            while theirs.wait_for_tick() {
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Keeps the clock running until the returned value is dropped.
    pub(crate) fn running(&self) -> Running<'_> {
        self.shared.lock().running += 1;
        self.shared.changed.notify_all();
        Running { shared: &self.shared }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while no call is running, and then for one tick. Returns `false` once the ticker has
    /// ended.
    fn wait_for_tick(&self) -> bool {
        let state = self.lock();
        let idle = |state: &mut State| !state.ended && state.running == 0;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        let going = |state: &mut State| !state.ended;
        let (state, _) = self.changed.wait_timeout_while(state, TICK, going).unwrap_or_else(PoisonError::into_inner);
        !state.ended
    }
}

#[derive(Debug)]
pub(crate) struct Running<'a> {
    shared: &'a Shared,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.shared.lock().running -= 1;
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic, and if it did, nothing could be done about it here.
            let _ = thread.join();
        }
    }
}

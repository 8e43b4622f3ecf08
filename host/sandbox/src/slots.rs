//! Slots for calls in flight. The pool of instances and the memory are limited, so a call waits
//! until there is enough of both.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Counts free slots and memory. Waiting calls are served in order of arrival, so that a large call
/// does not wait forever behind small ones.
#[derive(Debug)]
pub(crate) struct Slots {
    state: Mutex<State>,
    changed: Condvar,
    /// The memory for everything in bytes. `None` means unlimited.
    budget: Option<u64>,
}

#[derive(Debug)]
struct State {
    free: u32,
    used: u64,
    /// The next ticket number, and the one that is served next.
    next: u64,
    served: u64,
}

impl Slots {
    pub(crate) fn new(count: u32, budget: Option<u64>) -> Self {
        let state = State { free: count, used: 0, next: 0, served: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), budget }
    }

    /// Waits for `places` slots and `memory` bytes. The wait is bounded, because every call and every
    /// compilation is.
    pub(crate) fn take(&self, places: u32, memory: u64) -> Slot<'_> {
        // A request for more than the budget runs alone.
        let memory = self.budget.map_or(0, |budget| memory.min(budget));
        let budget = self.budget.unwrap_or(u64::MAX);
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let mut state = self
            .changed
            .wait_while(state, |state| {
                state.served != number || state.free < places || state.used.saturating_add(memory) > budget
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.served += 1;
        state.free -= places;
        state.used += memory;
        drop(state);
        self.changed.notify_all();
        Slot { slots: self, places, memory }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Slot<'a> {
    slots: &'a Slots,
    places: u32,
    memory: u64,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        state.free += self.places;
        state.used -= self.memory;
        drop(state);
        self.slots.changed.notify_all();
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;

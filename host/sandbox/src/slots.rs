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
    /// The number of free slots.
    free: u32,
    /// The number of bytes in use.
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

    /// Waits for a slot and `memory` bytes. The wait is bounded, because every call and every
    /// compilation is.
    pub(crate) fn take(&self, memory: u64) -> Slot<'_> {
        self.wait(1, memory)
    }

    /// Waits for `memory` bytes without a slot.
    pub(crate) fn reserve(&self, memory: u64) -> Slot<'_> {
        self.wait(0, memory)
    }

    fn wait(&self, places: u32, memory: u64) -> Slot<'_> {
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

/// A slot with memory, released on drop.
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
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Returns the peak usage while 16 threads repeatedly take `of(thread)` bytes each.
    fn most(slots: &Slots, of: impl Fn(u64) -> u64 + Sync) -> (u64, u64) {
        let (places, memory) = ([AtomicU64::new(0), AtomicU64::new(0)], [AtomicU64::new(0), AtomicU64::new(0)]);
        let enter = |[now, most]: &[AtomicU64; 2], n| {
            most.fetch_max(now.fetch_add(n, Ordering::SeqCst) + n, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for thread in 0..16 {
                let (places, memory, of) = (&places, &memory, &of);
                scope.spawn(move || {
                    for _ in 0..50 {
                        let _slot = slots.take(of(thread));
                        enter(places, 1);
                        enter(memory, of(thread));
                        std::thread::yield_now();
                        places[0].fetch_sub(1, Ordering::SeqCst);
                        memory[0].fetch_sub(of(thread), Ordering::SeqCst);
                    }
                });
            }
        });
        let state = slots.lock();
        assert_eq!((state.used, state.next), (0, state.served));
        (places[1].load(Ordering::SeqCst), memory[1].load(Ordering::SeqCst))
    }

    #[test]
    fn never_more_places_than_there_are() {
        assert!((1..=3).contains(&most(&Slots::new(3, None), |_| 1 << 40).0));
    }

    #[test]
    fn never_more_memory_than_there_is() {
        let (places, memory) = most(&Slots::new(32, Some(100)), |thread| 10 + thread * 5);
        assert!(places > 1 && memory <= 100, "{places} places, {memory} bytes");
    }

    #[test]
    fn what_wants_more_than_there_is_runs_alone() {
        assert_eq!(most(&Slots::new(32, Some(100)), |_| 1000).0, 1);
    }
}

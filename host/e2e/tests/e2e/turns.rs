//! A lock for tests: some run in parallel, except for tests that disable a node.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of tests that run in parallel. Each has its own run in the cluster, and a node of a small
/// cluster has room for a few. Most of the time they wait.
///
/// The test binary has more threads, because one that waits for the exclusive lock does nothing.
const SHARED: usize = 6;

/// The current holders of the lock.
struct Holders {
    shared: usize,
    alone: bool,
}

static TURNS: Mutex<Holders> = Mutex::new(Holders { shared: 0, alone: false });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Number of shared locks of the test that runs on this thread.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// A shared or exclusive lock, which is released when dropped.
pub(crate) struct Lock {
    alone: bool,
}

/// Takes a shared lock. Waiting exclusive requests do not block it, and neither does the number of
/// tests if this one has a lock, because a test may take two, one after the other.
pub(crate) fn shared() -> Lock {
    let has_one = OWN.get() > 0;
    take(|turns| !turns.alone && (has_one || turns.shared < SHARED), |turns| turns.shared += 1);
    OWN.set(OWN.get() + 1);
    Lock { alone: false }
}

/// Takes an exclusive lock.
pub(crate) fn alone() -> Lock {
    take(|turns| !turns.alone && turns.shared == 0, |turns| turns.alone = true);
    Lock { alone: true }
}

fn take(free: impl Fn(&Holders) -> bool, take: impl Fn(&mut Holders)) {
    let turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = CHANGED.wait_while(turns, |turns| !free(turns));
    take(&mut waited.unwrap_or_else(PoisonError::into_inner));
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        if self.alone {
            turns.alone = false;
        } else {
            turns.shared -= 1;
            OWN.set(OWN.get().saturating_sub(1));
        }
        CHANGED.notify_all();
    }
}

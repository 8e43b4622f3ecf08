//! A lock for tests: they run in parallel, except for tests that disable a node.

use std::sync::{Condvar, Mutex, PoisonError};

/// The current holders of the lock.
struct Holders {
    shared: usize,
    alone: bool,
}

static TURNS: Mutex<Holders> = Mutex::new(Holders { shared: 0, alone: false });
static CHANGED: Condvar = Condvar::new();

/// A shared or exclusive lock, which is released when dropped.
pub(crate) struct Lock {
    alone: bool,
}

/// Takes a shared lock. Waiting exclusive requests do not block it, because a test may take two
/// shared locks, one after the other.
pub(crate) fn shared() -> Lock {
    take(|turns| !turns.alone, |turns| turns.shared += 1);
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
        }
        CHANGED.notify_all();
    }
}

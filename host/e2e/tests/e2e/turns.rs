//! A lock for tests: they run in parallel, except for tests that disable a node.

use std::sync::{Condvar, Mutex, PoisonError};

/// The current holders of the lock.
struct Turns {
    shared: usize,
    alone: bool,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { shared: 0, alone: false });
static CHANGED: Condvar = Condvar::new();

/// A shared or exclusive lock, which is released when dropped.
pub(crate) struct Turn {
    alone: bool,
}

/// Takes a shared lock. Waiting exclusive requests do not block it, because a test may take two
/// shared locks, one after the other.
pub(crate) fn shared() -> Turn {
    take(|turns| !turns.alone, |turns| turns.shared += 1);
    Turn { alone: false }
}

/// Takes an exclusive lock.
pub(crate) fn alone() -> Turn {
    take(|turns| !turns.alone && turns.shared == 0, |turns| turns.alone = true);
    Turn { alone: true }
}

fn take(free: impl Fn(&Turns) -> bool, take: impl Fn(&mut Turns)) {
    let turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = CHANGED.wait_while(turns, |turns| !free(turns));
    take(&mut waited.unwrap_or_else(PoisonError::into_inner));
}

impl Drop for Turn {
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

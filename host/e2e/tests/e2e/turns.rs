//! Tests run beside each other, but not beside one that takes a node away from all of them.

use std::sync::{Condvar, Mutex, PoisonError};

/// Who has a turn.
struct Turns {
    beside: usize,
    alone: bool,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { beside: 0, alone: false });
static CHANGED: Condvar = Condvar::new();

/// A turn, until it is dropped.
pub(crate) struct Turn {
    alone: bool,
}

/// A turn beside others. Whoever waits to be alone does not hold it up: a test may take two, one after the other.
pub(crate) fn beside_others() -> Turn {
    take(|turns| !turns.alone, |turns| turns.beside += 1);
    Turn { alone: false }
}

/// A turn beside nobody.
pub(crate) fn alone() -> Turn {
    take(|turns| !turns.alone && turns.beside == 0, |turns| turns.alone = true);
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
            turns.beside -= 1;
        }
        CHANGED.notify_all();
    }
}

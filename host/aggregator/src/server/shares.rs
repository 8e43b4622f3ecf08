//! What the plugins of a run share: connections, and memory for bodies that arrive.
//!
//! A plugin may always have an equal part. It may have more while that is less than what is free.
//! However much one plugin takes, half stays free for others. With two such plugins, a third stays
//! free. All plugins together never have more than twice the whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::state::State;

/// Something of a limited amount, and how much of it each plugin has.
pub(super) struct Shares {
    state: State,
    all: usize,
    held: Mutex<BTreeMap<String, usize>>,
}

/// The share of a plugin for one connection or body, released when it is dropped.
pub(super) struct Share {
    shares: Arc<Shares>,
    plugin: String,
    amount: usize,
}

impl Shares {
    pub(super) fn new(state: State, all: usize) -> Arc<Self> {
        Arc::new(Self { state, all, held: Mutex::default() })
    }

    /// Returns an empty share of `plugin`.
    pub(super) fn of(self: &Arc<Self>, plugin: &str) -> Share {
        Share { shares: Arc::clone(self), plugin: plugin.to_owned(), amount: 0 }
    }

    /// Returns the number of plugins of the run.
    pub(super) fn plugins(&self) -> usize {
        self.state.read(|ledger| ledger.plugins().len()).max(1)
    }
}

impl Share {
    /// Takes `amount` more, or returns `false` if the plugin has its share already.
    pub(super) fn grow(&mut self, amount: usize) -> bool {
        let shares = &self.shares;
        let mut held = shares.held.lock();
        let free = shares.all.saturating_sub(held.values().sum());
        let own = held.entry(self.plugin.clone()).or_default();
        let more = own.saturating_add(amount);
        // The plugins are only counted if that matters, because the ledger is in demand.
        if more > free && more > shares.all / shares.plugins() {
            return false;
        }
        *own = more;
        drop(held);
        self.amount = self.amount.saturating_add(amount);
        true
    }

    /// Gives everything back.
    pub(super) fn clear(&mut self) {
        let mut held = self.shares.held.lock();
        if let Some(own) = held.get_mut(&self.plugin) {
            *own = own.saturating_sub(self.amount);
        }
        drop(held);
        self.amount = 0;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}

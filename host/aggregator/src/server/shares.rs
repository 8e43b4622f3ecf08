//! How many connections each plugin may hold, so that one plugin cannot keep the workers of another out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_phonehome::PeerIdentity;

use crate::state::State;

/// The connections that plugins hold.
///
/// A plugin may always hold its equal part of all connections, and more while it holds fewer than are free. However many connections
/// one plugin opens, half of them stay free for the others; against two greedy plugins a third stays free.
pub(super) struct Shares {
    state: State,
    all: usize,
    held: Mutex<BTreeMap<String, usize>>,
}

/// One connection of a plugin, given back when it is dropped.
pub(super) struct Share {
    shares: Arc<Shares>,
    plugin: String,
}

impl Shares {
    /// Shares out `all` connections among the plugins of a run.
    pub(super) fn new(state: State, all: usize) -> Arc<Self> {
        Arc::new(Self { state, all, held: Mutex::default() })
    }

    /// Takes one more connection for `identity`, or nothing if its plugin holds its share already.
    pub(super) fn take(self: &Arc<Self>, identity: &PeerIdentity) -> Option<Share> {
        let plugin = identity.plugins().first().map(ToString::to_string).unwrap_or_default();
        let plugins = self.state.read(|ledger| ledger.plugins().len()).max(1);
        let part = self.all / plugins;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.all.saturating_sub(held.values().sum());
        let own = held.entry(plugin.clone()).or_default();
        // Alone, it takes nothing from anybody, and waits for its own connections.
        if plugins > 1 && *own >= part && *own >= free {
            return None;
        }
        *own += 1;
        drop(held);
        Some(Share { shares: Arc::clone(self), plugin })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.shares.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = held.get_mut(&self.plugin) {
            *own -= 1;
        }
    }
}

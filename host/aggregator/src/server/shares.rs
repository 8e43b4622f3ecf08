//! Limit on the connections per plugin, so that one plugin cannot keep the workers of another one
//! out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_phonehome::PeerIdentity;

use crate::state::State;

/// The connections of each plugin.
///
/// A plugin may always have an equal part of all connections. It may have more while its number is
/// less than the number of free connections. However many connections one plugin opens, half of
/// them stay free for others. With two such plugins, a third stays free.
pub(super) struct Shares {
    state: State,
    all: usize,
    held: Mutex<BTreeMap<String, usize>>,
}

/// One connection of a plugin, released when it is dropped.
pub(super) struct Share {
    shares: Arc<Shares>,
    plugin: String,
}

impl Shares {
    /// Creates shares of `all` connections for the plugins of a run.
    pub(super) fn new(state: State, all: usize) -> Arc<Self> {
        Arc::new(Self { state, all, held: Mutex::default() })
    }

    /// Adds a connection of `identity`, or returns `None` if its plugin already has its share.
    pub(super) fn take(self: &Arc<Self>, identity: &PeerIdentity) -> Option<Share> {
        let plugin = identity.plugins().first().map(ToString::to_string).unwrap_or_default();
        let plugins = self.state.read(|ledger| ledger.plugins().len()).max(1);
        let part = self.all / plugins;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.all.saturating_sub(held.values().sum());
        let own = held.entry(plugin.clone()).or_default();
        // A single plugin competes with nobody, and waits for its own connections.
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

//! When the plugin said last how far it is.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// When an update of the plugin was passed on last. Shared by the relay, which knows, and by who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastPosted(Arc<Mutex<Option<Instant>>>);

impl LastPosted {
    /// It is now.
    pub(crate) fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// `None`: never.
    pub(crate) fn at(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

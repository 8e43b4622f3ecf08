//! Counts what a check reads, from files, the cluster and the network together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{Stop, Unit};

/// The number of bytes that a check has read. Clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    read: Arc<AtomicU64>,
    limit: u64,
}

impl Meter {
    /// Allows `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self { read: Arc::default(), limit }
    }

    /// Counts `bytes`.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), Stop> {
        // Only the module's thread counts, so no update is lost.
        let read = self.read().saturating_add(bytes);
        self.read.store(read, Ordering::Relaxed);
        if read > self.limit { Err(Stop::limit("input-bytes", self.limit, Unit::Bytes)) } else { Ok(()) }
    }

    /// Returns the number of bytes that may still be read.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.read())
    }

    /// Returns the number of bytes so far.
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

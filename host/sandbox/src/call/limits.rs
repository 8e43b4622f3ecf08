//! The wall clock, memory and tables of one call, and what it reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wasmtime::ResourceLimiter;

use crate::failure::{Stop, Unit};

/// The time limit of a call. It starts with the call, and time spent in the host counts.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    pub(crate) start: Instant,
    /// `None` if the deadline exceeds the range of the clock.
    deadline: Option<Instant>,
    seconds: u64,
    given_up: Arc<AtomicBool>,
}

impl Clock {
    /// Starts a clock. The call ends early when `given_up` is set.
    pub(crate) fn start(seconds: u64, given_up: Arc<AtomicBool>) -> Self {
        let start = Instant::now();
        Self { start, deadline: start.checked_add(Duration::from_secs(seconds)), seconds, given_up }
    }

    /// Returns the remaining time, at least zero. `None` means that there is no deadline.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Stop::Gone);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err(Stop::limit("wall-seconds", self.seconds, Unit::Seconds))
            }
            _ => Ok(()),
        }
    }
}

/// Counts the memory and tables of an instance together. Growth beyond a limit ends the call with
/// the name of the limit. A failed allocation in the guest would end it too, but without the
/// reason.
#[derive(Debug)]
pub(crate) struct Limiter {
    /// Memories never shrink, so the usage is also the peak.
    pub(crate) memory: Usage,
    tables: Usage,
}

#[derive(Debug)]
pub(crate) struct Usage {
    name: &'static str,
    unit: Unit,
    limit: u64,
    pub(crate) used: u64,
}

impl Limiter {
    pub(crate) fn new(memory: u64, table_elements: u64) -> Self {
        Self {
            memory: Usage { name: "memory", unit: Unit::Bytes, limit: memory, used: 0 },
            tables: Usage { name: "table-elements", unit: Unit::Elements, limit: table_elements, used: 0 },
        }
    }
}

impl Usage {
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_sub(current as u64).saturating_add(desired as u64);
        if used > self.limit {
            return Err(Stop::limit(self.name, self.limit, self.unit).into());
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The module's own declaration forbids the growth, so the guest handles it.
            return Ok(false);
        }
        self.used = used;
        Ok(true)
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.memory.grow(current, desired, maximum)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.tables.grow(current, desired, maximum)
    }
}

/// What a check has read in bytes, from files, the cluster and the network together. Clones count
/// together.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    read: Arc<AtomicU64>,
    limit: u64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { read: Arc::default(), limit }
    }

    pub(crate) fn charge(&self, bytes: u64) -> Result<(), Stop> {
        // Only the module's thread counts, so no update is lost.
        let read = self.read().saturating_add(bytes);
        self.read.store(read, Ordering::Relaxed);
        if read > self.limit { Err(Stop::limit("input-bytes", self.limit, Unit::Bytes)) } else { Ok(()) }
    }

    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.read())
    }

    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;

//! The memory and tables of one call.

use wasmtime::ResourceLimiter;

use crate::failure::Stop;
use crate::failure::Unit;

/// Counts the memory and tables of an instance together. Growth beyond a limit ends the call with
/// the name of the limit. A failed allocation in the guest would end it too, but without the
/// reason.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Meter,
    tables: Meter,
}

#[derive(Debug)]
struct Meter {
    name: &'static str,
    unit: Unit,
    limit: u64,
    used: u64,
}

impl Limiter {
    /// Limits memory to `memory` bytes and tables to `table_elements` elements.
    pub(crate) fn new(memory: u64, table_elements: u64) -> Self {
        Self {
            memory: Meter { name: "memory", unit: Unit::Bytes, limit: memory, used: 0 },
            tables: Meter { name: "table-elements", unit: Unit::Elements, limit: table_elements, used: 0 },
        }
    }

    /// Returns the number of bytes of memory in use. Memories never shrink, so this is also the
    /// peak.
    pub(crate) fn memory(&self) -> u64 {
        self.memory.used
    }
}

impl Meter {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_memories_count_together() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert!(limiter.memory_growing(0, 40, Some(50)).unwrap());
        assert!(!limiter.memory_growing(40, 60, Some(50)).unwrap());
        assert!(limiter.memory_growing(40, 60, None).unwrap());
        assert_eq!(limiter.memory(), 100);
        let error = limiter.memory_growing(60, 61, None).unwrap_err();
        assert_eq!(error.downcast_ref::<Stop>(), Some(&Stop::limit("memory", 100, Unit::Bytes)));
        let error = limiter.table_growing(0, 11, None).unwrap_err();
        assert_eq!(error.downcast_ref::<Stop>(), Some(&Stop::limit("table-elements", 10, Unit::Elements)));
    }
}

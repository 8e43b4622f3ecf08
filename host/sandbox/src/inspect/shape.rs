//! The size of an instantiated component.
//!
//! It is computed before compilation: components nest, and a few hundred bytes can represent
//! millions of instances.

/// The size of one instance of a core module or component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The number of core instances, including itself.
    pub(crate) core_instances: u64,
    /// The number of component instances, excluding itself.
    pub(crate) component_instances: u64,
    /// The number of linear memories.
    pub(crate) memories: u64,
    /// The initial size of linear memory in bytes.
    pub(crate) memory_bytes: u64,
    /// The number of tables.
    pub(crate) tables: u64,
    /// The initial number of table elements.
    pub(crate) table_elements: u64,
}

impl Shape {
    /// Adds another part. Sums saturate, because a bomb exceeds any limit anyway.
    pub(super) fn add(&mut self, part: Shape) {
        let Self { core_instances, component_instances, memories, memory_bytes, tables, table_elements } = self;
        *core_instances = core_instances.saturating_add(part.core_instances);
        *component_instances = component_instances.saturating_add(part.component_instances);
        *memories = memories.saturating_add(part.memories);
        *memory_bytes = memory_bytes.saturating_add(part.memory_bytes);
        *tables = tables.saturating_add(part.tables);
        *table_elements = table_elements.saturating_add(part.table_elements);
    }
}

//! How large a component is once it is instantiated: counted before anything is compiled, because components nest, and a few
//! hundred bytes can stand for millions of instances.

/// What a core module or component brings along with each instance of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Core instances, itself included.
    pub(crate) core_instances: u64,
    /// Component instances, itself not included.
    pub(crate) component_instances: u64,
    /// Linear memories.
    pub(crate) memories: u64,
    /// Bytes of linear memory that it starts with.
    pub(crate) memory_bytes: u64,
    /// Tables.
    pub(crate) tables: u64,
    /// Elements of tables that it starts with.
    pub(crate) table_elements: u64,
}

impl Shape {
    /// Adds another part. Saturates: a bomb is larger than any limit all the same.
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

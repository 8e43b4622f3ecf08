//! Traverses the structure of a component in one pass, and determines its size.
//!
//! The size is computed before compilation: components nest, and a few hundred bytes can represent
//! millions of instances.

use wasmparser::{
    BinaryReaderError, ComponentAlias, ComponentAliasSectionReader, ComponentExportSectionReader,
    ComponentExternalKind, ComponentImportSectionReader, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef,
    Encoding, Instance, Parser, Payload,
};

use crate::config::WASM_PAGE;
use crate::error::InspectError;
use crate::inspect::metadata::METADATA_SECTION;

/// The maximum nesting depth of components. Tools that compose components stay below five.
const MAX_NESTING: usize = 16;
/// The maximum number of top-level imports and exports. A component with all of WASI has about
/// forty.
const MAX_EXTERNS: usize = 1_000;
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) imports: Vec<Import>,
    /// The names of the top-level exports, and whether they are instances.
    pub(super) exports: Vec<(String, bool)>,
    pub(super) metadata: Option<&'a [u8]>,
    pub(super) shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) name: String,
    pub(super) instance: bool,
}

/// The core module or component that is being read.
enum Frame {
    Core(Shape),
    Component(Space),
}

/// The index spaces of a component that determine its size. `None` means that the entry is
/// imported, so its size is unknown.
#[derive(Default)]
struct Space {
    modules: Vec<Option<Shape>>,
    components: Vec<Option<Shape>>,
    total: Shape,
}

/// Traverses `wasm`, which has the header of a component.
pub(super) fn walk(wasm: &[u8]) -> Result<Found<'_>, InspectError> {
    let mut walk = Walk::default();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(broken)? {
            Payload::End(_) => match walk.frames.pop() {
                Some(done) => walk.close(done),
                None => break,
            },
            payload => walk.section(payload)?,
        }
    }
    walk.found.metadata = walk.found.metadata.or(walk.in_core);
    Ok(walk.found)
}

#[derive(Default)]
struct Walk<'a> {
    found: Found<'a>,
    in_core: Option<&'a [u8]>,
    /// From the outermost component to the part that is being read.
    frames: Vec<Frame>,
}

impl<'a> Walk<'a> {
    fn section(&mut self, payload: Payload<'a>) -> Result<(), InspectError> {
        match payload {
            Payload::Version { encoding, .. } => {
                if self.frames.len() > MAX_NESTING {
                    return Err(InspectError::TooMany { what: "levels of components", limit: MAX_NESTING as u64 });
                }
                self.frames.push(match encoding {
                    Encoding::Module => Frame::Core(Shape { core_instances: 1, ..Shape::default() }),
                    Encoding::Component => Frame::Component(Space::default()),
                });
            }
            Payload::CustomSection(section) if section.name() == METADATA_SECTION => match self.frames.as_slice() {
                [Frame::Component(_)] => _ = self.found.metadata.get_or_insert(section.data()),
                [.., Frame::Core(_)] => _ = self.in_core.get_or_insert(section.data()),
                _ => {}
            },
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory.map_err(broken)?;
                    let page = memory.page_size_log2.map(|log2| 1u64.checked_shl(log2).unwrap_or(u64::MAX));
                    let memory_bytes = memory.initial.saturating_mul(page.unwrap_or(WASM_PAGE));
                    self.add_to_core(Shape { memories: 1, memory_bytes, ..Shape::default() });
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let table_elements = table.map_err(broken)?.ty.initial;
                    self.add_to_core(Shape { tables: 1, table_elements, ..Shape::default() });
                }
            }
            Payload::ComponentImportSection(section) => self.imports(section)?,
            Payload::ComponentExportSection(section) => self.exports(section)?,
            Payload::ComponentAliasSection(section) => self.aliases(section)?,
            Payload::InstanceSection(section) => {
                let Some((Frame::Component(space), _)) = self.frames.split_last_mut() else { return Ok(()) };
                for instance in section {
                    if let Instance::Instantiate { module_index, .. } = instance.map_err(broken)? {
                        let what = "core module";
                        space.total.add(get(&space.modules, module_index).ok_or(InspectError::Foreign(what))?);
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                let Some((Frame::Component(space), _)) = self.frames.split_last_mut() else { return Ok(()) };
                for instance in section {
                    if let ComponentInstance::Instantiate { component_index, .. } = instance.map_err(broken)? {
                        let what = "component";
                        space.total.add(get(&space.components, component_index).ok_or(InspectError::Foreign(what))?);
                        space.total.add(Shape { component_instances: 1, ..Shape::default() });
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_to_core(&mut self, part: Shape) {
        if let Some(Frame::Core(shape)) = self.frames.last_mut() {
            shape.add(part);
        }
    }

    fn imports(&mut self, section: ComponentImportSectionReader<'a>) -> Result<(), InspectError> {
        let top = self.frames.len() == 1;
        let Some(Frame::Component(space)) = self.frames.last_mut() else { return Ok(()) };
        for import in section {
            let import = import.map_err(broken)?;
            if top {
                let instance = matches!(import.ty, ComponentTypeRef::Instance(_));
                push(&mut self.found.imports, "imports", Import { name: import.name.name.to_owned(), instance })?;
            }
            match import.ty {
                ComponentTypeRef::Module(_) => space.modules.push(None),
                ComponentTypeRef::Component(_) => space.components.push(None),
                _ => {}
            }
        }
        Ok(())
    }

    /// An export also creates a new index for what it exports.
    fn exports(&mut self, section: ComponentExportSectionReader<'a>) -> Result<(), InspectError> {
        let top = self.frames.len() == 1;
        let Some(Frame::Component(space)) = self.frames.last_mut() else { return Ok(()) };
        for export in section {
            let export = export.map_err(broken)?;
            if top {
                let instance = export.kind == ComponentExternalKind::Instance;
                push(&mut self.found.exports, "exports", (export.name.name.to_owned(), instance))?;
            }
            match export.kind {
                ComponentExternalKind::Module => space.modules.push(get(&space.modules, export.index)),
                ComponentExternalKind::Component => space.components.push(get(&space.components, export.index)),
                _ => {}
            }
        }
        Ok(())
    }

    fn aliases(&mut self, section: ComponentAliasSectionReader<'a>) -> Result<(), InspectError> {
        let Some((Frame::Component(space), outer)) = self.frames.split_last_mut() else { return Ok(()) };
        for alias in section {
            match alias.map_err(broken)? {
                ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. } => space.modules.push(None),
                ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                    space.components.push(None);
                }
                ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } => {
                    let shape = from_outer(outer, space, count, |space| get(&space.modules, index));
                    space.modules.push(shape);
                }
                ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                    let shape = from_outer(outer, space, count, |space| get(&space.components, index));
                    space.components.push(shape);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a completed module or component to the component around it.
    fn close(&mut self, done: Frame) {
        match (self.frames.last_mut(), done) {
            (Some(Frame::Component(around)), Frame::Core(shape)) => around.modules.push(Some(shape)),
            (Some(Frame::Component(around)), Frame::Component(space)) => around.components.push(Some(space.total)),
            (None, Frame::Component(space)) => self.found.shape = space.total,
            // A core module contains no others, and the header of the file is that of a component.
            _ => {}
        }
    }
}

fn push<T>(list: &mut Vec<T>, what: &'static str, entry: T) -> Result<(), InspectError> {
    if list.len() >= MAX_EXTERNS {
        return Err(InspectError::TooMany { what, limit: MAX_EXTERNS as u64 });
    }
    list.push(entry);
    Ok(())
}

/// Looks up an entry. An index out of range counts as unknown: the component is invalid, which the
/// compiler reports.
fn get(list: &[Option<Shape>], index: u32) -> Option<Shape> {
    list.get(usize::try_from(index).ok()?).copied().flatten()
}

/// Looks up an entry in the component `count` levels further out. 0 is the current component.
fn from_outer(outer: &[Frame], space: &Space, count: u32, find: impl Fn(&Space) -> Option<Shape>) -> Option<Shape> {
    let Some(up) = usize::try_from(count).ok()?.checked_sub(1) else {
        return find(space);
    };
    match outer.iter().rev().nth(up)? {
        Frame::Component(space) => find(space),
        Frame::Core(_) => None,
    }
}

fn broken(error: BinaryReaderError) -> InspectError {
    let at = error.offset() as u64;
    // The parser has no separate error kind for truncated data.
    if error.message().starts_with("unexpected end") {
        InspectError::Truncated(at)
    } else {
        InspectError::Malformed { at, reason: error.message().to_owned() }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The number of core instances, including itself.
    pub(crate) core_instances: u64,
    /// The number of component instances, excluding itself.
    pub(crate) component_instances: u64,
    pub(crate) memories: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) tables: u64,
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

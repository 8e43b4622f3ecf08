//! Traverses the structure of a component in one pass.

use wasmparser::{
    BinaryReaderError, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, Encoding, Instance, Parser, Payload,
};

use super::metadata::METADATA_SECTION;
use super::shape::Shape;
use crate::error::InspectError;

/// The maximum nesting depth of components. Tools that compose components stay below five.
const MAX_NESTING: usize = 16;
/// The maximum number of top-level imports and exports. A component with all of WASI has about
/// forty.
const MAX_EXTERNS: usize = 1_000;
/// The size of a page of linear memory.
const PAGE: u64 = 64 << 10;

/// The result of the traversal.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// The top-level imports.
    pub(super) imports: Vec<Import>,
    /// The names of the top-level exports, and whether they are instances.
    pub(super) exports: Vec<(String, bool)>,
    /// The content of the metadata section.
    pub(super) metadata: Option<&'a [u8]>,
    /// The size of one instance of the component.
    pub(super) shape: Shape,
}

/// A top-level import.
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
    let mut found = Found::default();
    let mut in_core: Option<&[u8]> = None;
    let mut frames: Vec<Frame> = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(broken)?;
        let top = frames.len() == 1;
        match payload {
            Payload::Version { encoding, .. } => {
                if frames.len() > MAX_NESTING {
                    return Err(InspectError::TooMany { what: "levels of components", limit: MAX_NESTING as u64 });
                }
                frames.push(match encoding {
                    Encoding::Module => Frame::Core(Shape { core_instances: 1, ..Shape::default() }),
                    Encoding::Component => Frame::Component(Space::default()),
                });
            }
            Payload::CustomSection(section) if section.name() == METADATA_SECTION => match frames.last() {
                Some(Frame::Component(_)) if top => {
                    found.metadata.get_or_insert(section.data());
                }
                Some(Frame::Core(_)) => {
                    in_core.get_or_insert(section.data());
                }
                _ => {}
            },
            Payload::ComponentImportSection(section) if top => {
                for import in section.clone() {
                    let import = import.map_err(broken)?;
                    let instance = matches!(import.ty, ComponentTypeRef::Instance(_));
                    push(&mut found.imports, "imports", Import { name: import.name.name.to_owned(), instance })?;
                }
                component_section(&mut frames, &Payload::ComponentImportSection(section))?;
            }
            Payload::ComponentExportSection(section) if top => {
                for export in section.clone() {
                    let export = export.map_err(broken)?;
                    let instance = export.kind == ComponentExternalKind::Instance;
                    push(&mut found.exports, "exports", (export.name.name.to_owned(), instance))?;
                }
                component_section(&mut frames, &Payload::ComponentExportSection(section))?;
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory.map_err(broken)?;
                    let page = memory.page_size_log2.map_or(PAGE, |log2| 1u64.checked_shl(log2).unwrap_or(u64::MAX));
                    let memory_bytes = memory.initial.saturating_mul(page);
                    core(&mut frames, Shape { memories: 1, memory_bytes, ..Shape::default() });
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let table_elements = table.map_err(broken)?.ty.initial;
                    core(&mut frames, Shape { tables: 1, table_elements, ..Shape::default() });
                }
            }
            Payload::End(_) => match frames.pop() {
                Some(done) => close(&mut frames, done, &mut found),
                None => break,
            },
            other => component_section(&mut frames, &other)?,
        }
    }
    found.metadata = found.metadata.or(in_core);
    Ok(found)
}

fn push<T>(list: &mut Vec<T>, what: &'static str, entry: T) -> Result<(), InspectError> {
    if list.len() >= MAX_EXTERNS {
        return Err(InspectError::TooMany { what, limit: MAX_EXTERNS as u64 });
    }
    list.push(entry);
    Ok(())
}

fn core(frames: &mut [Frame], part: Shape) {
    if let Some(Frame::Core(shape)) = frames.last_mut() {
        shape.add(part);
    }
}

/// Adds a completed module or component to the component around it.
fn close(frames: &mut [Frame], done: Frame, found: &mut Found<'_>) {
    match (frames.last_mut(), done) {
        (Some(Frame::Component(around)), Frame::Core(shape)) => around.modules.push(Some(shape)),
        (Some(Frame::Component(around)), Frame::Component(space)) => around.components.push(Some(space.total)),
        (None, Frame::Component(space)) => found.shape = space.total,
        // A core module contains no others, and `encoding::check` has verified that the outermost
        // one is a component.
        _ => {}
    }
}

/// Handles the sections that define or instantiate modules and components.
fn component_section(frames: &mut [Frame], payload: &Payload<'_>) -> Result<(), InspectError> {
    let Some((Frame::Component(space), outer)) = frames.split_last_mut() else {
        return Ok(());
    };
    match payload {
        Payload::ComponentImportSection(section) => {
            for import in section.clone() {
                match import.map_err(broken)?.ty {
                    ComponentTypeRef::Module(_) => space.modules.push(None),
                    ComponentTypeRef::Component(_) => space.components.push(None),
                    _ => {}
                }
            }
        }
        // An export also creates a new index for what it exports.
        Payload::ComponentExportSection(section) => {
            for export in section.clone() {
                let export = export.map_err(broken)?;
                match export.kind {
                    ComponentExternalKind::Module => space.modules.push(get(&space.modules, export.index)),
                    ComponentExternalKind::Component => space.components.push(get(&space.components, export.index)),
                    _ => {}
                }
            }
        }
        Payload::ComponentAliasSection(section) => {
            for alias in section.clone() {
                match alias.map_err(broken)? {
                    ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. } => {
                        space.modules.push(None)
                    }
                    ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                        space.components.push(None)
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
        }
        Payload::InstanceSection(section) => {
            for instance in section.clone() {
                if let Instance::Instantiate { module_index, .. } = instance.map_err(broken)? {
                    let what = "core module";
                    space.total.add(get(&space.modules, module_index).ok_or(InspectError::Foreign { what })?);
                }
            }
        }
        Payload::ComponentInstanceSection(section) => {
            for instance in section.clone() {
                if let ComponentInstance::Instantiate { component_index, .. } = instance.map_err(broken)? {
                    let what = "component";
                    space.total.add(get(&space.components, component_index).ok_or(InspectError::Foreign { what })?);
                    space.total.add(Shape { component_instances: 1, ..Shape::default() });
                }
            }
        }
        _ => {}
    }
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
        InspectError::Truncated { at }
    } else {
        InspectError::Malformed { at, reason: error.message().to_owned() }
    }
}

//! Inspects one file: a component, or a core module that is to become one.

use std::path::Path;

use plumbline_bundle::Digest;
use plumbline_core::Rights;
use plumbline_core::definition::LimitsRequest;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::text::Printable;
use plumbline_sandbox::{DetectRule, HOST_GENERATION, InspectError, inspect, refused_imports};
use serde::Serialize;
use serde_json::{Map, Value};
use wasmparser::{BinaryReaderError, CustomSectionReader, KnownCustom, Parser, Payload};

use crate::error::AuthorError;
use crate::project::file_name;
use crate::snapshot::read;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A component, which a host can run.
    Component,
    /// A core module, from which `plumbline plugin build` makes a component.
    CoreModule,
}

/// A description of a module.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModuleInspection {
    /// The file.
    pub file: String,
    /// The kind of the file.
    pub kind: Kind,
    /// The size in bytes.
    pub size: u64,
    /// The digest: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The roles that the module implements.
    pub roles: Vec<&'static str>,
    /// The version of `plumbline:plugin` that the module was built for.
    pub generation: Option<String>,
    /// The newest version that this program supports.
    pub host_generation: &'static str,
    /// The exports.
    pub exports: Vec<String>,
    /// The imports.
    pub imports: Imports,
    /// The metadata of the module, if it has any.
    pub metadata: Option<Metadata>,
    /// The sections of the file.
    pub sections: Sections,
}

/// Imports, by how the host treats them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imports {
    /// Imports from the contract.
    pub contract: Vec<String>,
    /// Imports from WASI, which is empty except for what a check is granted.
    pub wasi: Vec<String>,
    /// Imports that no module gets. A host rejects a module with such imports.
    pub refused: Vec<String>,
    /// Imports of a core module, which it gets when it becomes a component.
    pub core: Vec<String>,
}

/// The content of the section `plumbline:module`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Metadata {
    /// The name of the module.
    pub name: String,
    /// The formats that the module handles.
    pub formats: Vec<String>,
    /// The files that the module reads if a definition has no `result-files`.
    pub default_files: Vec<String>,
    /// The rules by which the host detects files of its formats.
    pub detect: Vec<DetectRule>,
    /// The limits that the module asks for, in bytes, seconds and counts.
    pub limits: Map<String, Value>,
    /// The JSON Schema of its options.
    pub schema: Option<Value>,
    /// The rights that the module needs as a check.
    #[serde(skip_serializing_if = "Rights::is_empty")]
    pub rights: Rights,
}

/// Inspects the file at `path`.
pub fn module_file(path: &Path) -> Result<ModuleInspection, AuthorError> {
    let wasm = read(path, MAX_COMPONENT_BYTES).map_err(AuthorError::unreadable(path))?;
    if wasm.len() as u64 > MAX_COMPONENT_BYTES {
        let (path, limit) = (path.display(), MAX_COMPONENT_BYTES >> 20);
        return Err(AuthorError::input(format!("`{path}` is too large for a module: more than {limit} MiB")));
    }
    module(path, &wasm)
}

/// Inspects the bytes `wasm` of the file at `path`.
pub fn module(path: &Path, wasm: &[u8]) -> Result<ModuleInspection, AuthorError> {
    let broken =
        |error: BinaryReaderError| AuthorError::input(format!("`{}` is damaged", path.display())).because(error);
    let no_module =
        |error: InspectError| AuthorError::input(format!("`{}` is not a module", path.display())).because(error);
    let mut inspection = ModuleInspection {
        file: file_name(path),
        kind: Kind::CoreModule,
        size: wasm.len() as u64,
        digest: Digest::of(wasm).to_string(),
        roles: Vec::new(),
        generation: None,
        host_generation: HOST_GENERATION,
        exports: Vec::new(),
        imports: Imports::default(),
        metadata: None,
        sections: Sections::default(),
    };
    let info = match inspect(wasm) {
        Ok(info) => info,
        Err(InspectError::CoreModule) => {
            (inspection.imports.core, inspection.exports) = externs(wasm).map_err(broken)?;
            inspection.sections = Sections::of(wasm).map_err(broken)?;
            return Ok(inspection);
        }
        Err(error) => return Err(no_module(error)),
    };
    let refused = refused_imports(wasm).map_err(no_module)?;
    for name in info.imports.iter().filter(|name| !refused.contains(name)) {
        let Imports { wasi, contract, .. } = &mut inspection.imports;
        if name.starts_with("wasi:") { wasi } else { contract }.push(shown(name));
    }
    inspection.imports.refused = refused.iter().map(|name| shown(name)).collect();
    Ok(ModuleInspection {
        kind: Kind::Component,
        roles: info.roles.names(),
        generation: info.generation.as_deref().map(shown),
        exports: info.exports.iter().map(|name| shown(name)).collect(),
        metadata: info.name.map(|name| Metadata {
            name,
            formats: info.formats,
            default_files: info.default_files,
            detect: info.detect,
            limits: limits(&info.limits),
            schema: info.schema,
            rights: info.rights,
        }),
        sections: Sections::of(wasm).map_err(broken)?,
        ..inspection
    })
}

/// Returns the requested limits as numbers, the time in seconds.
fn limits(request: &LimitsRequest) -> Map<String, Value> {
    let mut limits = request.to_json();
    if let Some(seconds) = request.wall_seconds {
        limits.remove("wall");
        limits.insert("wall-seconds".to_owned(), seconds.into());
    }
    limits
}

/// Maximum number of imports and exports to list.
const MAX_EXTERNS: usize = 1_000;

/// Returns the imports (`module` `name`) and exports of a core module, which is what a compiler
/// produces before it becomes a component.
fn externs(wasm: &[u8]) -> Result<(Vec<String>, Vec<String>), BinaryReaderError> {
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports().take(MAX_EXTERNS) {
                    let import = import?;
                    imports.push(shown(&format!("{} {}", import.module, import.name)));
                }
            }
            Payload::ExportSection(section) => {
                for export in section.into_iter().take(MAX_EXTERNS) {
                    exports.push(shown(export?.name));
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

/// Maximum number of sections of one kind to list.
const MAX_LISTED: usize = 256;
/// Maximum number of characters of a name or version to show.
const MAX_TEXT: usize = 200;

/// A file or section and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedSize {
    /// The name.
    pub name: String,
    /// The size in bytes; the total if several sections have the name.
    pub bytes: u64,
}

/// The parts of a file, with their sizes in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sections {
    /// The sizes of its core modules, in the order of the file.
    #[serde(rename = "core-modules")]
    pub core_modules: Vec<u64>,
    /// Its custom sections, and those of its core modules. Sections with the same name are one
    /// entry.
    pub custom: Vec<NamedSize>,
    /// The tools that produced the file, according to itself.
    pub producers: Vec<Producer>,
}

/// An entry of the section `producers`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Producer {
    /// The field: `language`, `processed-by` or `sdk`.
    pub field: String,
    /// The name of the tool.
    pub name: String,
    /// The version of the tool; may be empty.
    pub version: String,
}

impl Sections {
    fn of(wasm: &[u8]) -> Result<Self, BinaryReaderError> {
        let mut sections = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ModuleSection { unchecked_range, .. } if sections.core_modules.len() < MAX_LISTED => {
                    sections.core_modules.push(unchecked_range.len() as u64);
                }
                Payload::CustomSection(section) => sections.custom(&section),
                _ => {}
            }
        }
        sections.producers.sort();
        sections.producers.dedup();
        Ok(sections)
    }

    fn custom(&mut self, section: &CustomSectionReader<'_>) {
        if let KnownCustom::Producers(fields) = section.as_known() {
            // Skip entries that cannot be read: they have no effect on the module.
            for field in fields.into_iter().flatten() {
                for value in field.values.into_iter().flatten() {
                    if self.producers.len() < MAX_LISTED {
                        let (name, version) = (shown(value.name), shown(value.version));
                        self.producers.push(Producer { field: shown(field.name), name, version });
                    }
                }
            }
        }
        let (name, bytes) = (shown(section.name()), section.data().len() as u64);
        if let Some(known) = self.custom.iter_mut().find(|known| known.name == name) {
            known.bytes += bytes;
        } else if self.custom.len() < MAX_LISTED {
            self.custom.push(NamedSize { name, bytes });
        }
    }
}

/// Returns text from an untrusted file, as documents and views have it.
fn shown(text: &str) -> String {
    Printable::escaped(text, MAX_TEXT).into()
}

//! Inspects one file: a component, or a core module that is to become one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plumbline_core::definition::LimitsRequest;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::{DetectRule, HOST_GENERATION, InspectError, ModuleInfo, inspect, refused_imports};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::core_module::externs;
use super::error::InspectionError;
use super::sections::{Sections, shown};

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
    /// Imports from WASI, for which the host provides an empty implementation.
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
}

/// Inspects the file at `path`.
///
/// # Errors
/// The file cannot be read, or is not WebAssembly.
pub fn module_file(path: &Path) -> Result<ModuleInspection, InspectionError> {
    let failed = |source| InspectionError::Read { path: path.to_owned(), source };
    let mut wasm = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut wasm).map_err(failed)?;
    if wasm.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(InspectionError::TooLarge { path: path.to_owned(), limit: MAX_COMPONENT_BYTES });
    }
    module(path, &wasm)
}

/// Inspects the bytes `wasm` of the file at `path`.
///
/// # Errors
/// The bytes are not WebAssembly.
pub fn module(path: &Path, wasm: &[u8]) -> Result<ModuleInspection, InspectionError> {
    let broken = |reason| InspectionError::Broken { path: path.to_owned(), reason };
    let no_module = |source| InspectionError::NoModule { path: path.to_owned(), source };
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match inspect(wasm) {
        Ok(info) => {
            let refused = refused_imports(wasm).map_err(no_module)?;
            Ok(component(file, &info, refused, Sections::of(wasm).map_err(broken)?))
        }
        Err(InspectError::CoreModule) => {
            let (core, exports) = externs(wasm).map_err(broken)?;
            Ok(ModuleInspection {
                file,
                kind: Kind::CoreModule,
                size: wasm.len() as u64,
                digest: digest(wasm),
                roles: Vec::new(),
                generation: None,
                host_generation: HOST_GENERATION,
                exports,
                imports: Imports { core, ..Imports::default() },
                metadata: None,
                sections: Sections::of(wasm).map_err(broken)?,
            })
        }
        Err(source) => Err(no_module(source)),
    }
}

fn digest(wasm: &[u8]) -> String {
    let hex: String = Sha256::digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn component(file: String, info: &ModuleInfo, refused: Vec<String>, sections: Sections) -> ModuleInspection {
    let roles = [
        (info.roles.post_processor, "post-processor"),
        (info.roles.expectations, "expectations"),
        (info.roles.summarizer, "summarizer"),
        (info.roles.judge, "judge"),
    ];
    let mut imports = Imports::default();
    for name in info.imports.iter().filter(|name| !refused.contains(name)) {
        let group = if name.starts_with("wasi:") { &mut imports.wasi } else { &mut imports.contract };
        group.push(shown(name));
    }
    imports.refused = refused.iter().map(|name| shown(name)).collect();
    ModuleInspection {
        file,
        kind: Kind::Component,
        size: info.size,
        digest: format!("sha256:{}", info.digest),
        roles: roles.into_iter().filter(|(plays, _)| *plays).map(|(_, role)| role).collect(),
        generation: info.generation.as_deref().map(shown),
        host_generation: HOST_GENERATION,
        exports: info.exports.iter().map(|name| shown(name)).collect(),
        imports,
        metadata: info.name.as_ref().map(|name| Metadata {
            name: name.clone(),
            formats: info.formats.clone(),
            default_files: info.default_files.clone(),
            detect: info.detect.clone(),
            limits: limits(&info.limits),
            schema: info.schema.clone(),
        }),
        sections,
    }
}

/// Returns the requested limits, with the keys that a definition uses.
fn limits(request: &LimitsRequest) -> Map<String, Value> {
    let LimitsRequest {
        wall_seconds,
        memory,
        table_elements,
        stack,
        input_bytes,
        items,
        output_bytes,
        item_bytes,
        depth,
        hostcall_bytes,
        log_bytes,
    } = request;
    let all = [
        ("wall-seconds", wall_seconds),
        ("memory", memory),
        ("table-elements", table_elements),
        ("stack", stack),
        ("input-bytes", input_bytes),
        ("items", items),
        ("output-bytes", output_bytes),
        ("item-bytes", item_bytes),
        ("depth", &depth.map(u64::from)),
        ("hostcall-bytes", hostcall_bytes),
        ("log-bytes", log_bytes),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), (*value)?.into()))).collect()
}

//! Turns a core module into a component.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{BinaryReaderError, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata, metadata};

use crate::componentize::contract;
use crate::componentize::error::ComponentizeError;

const MAGIC: &[u8] = b"\0asm";
/// The layer field of components. Core modules have 0.
const LAYER_COMPONENT: u16 = 1;

/// Returns the component of `wasm`, which is `wasm` itself if it already is one.
///
/// A core module with embedded types is encoded accordingly. One without types is treated as a
/// module of `world`, such as [`DEFAULT_WORLD`](crate::componentize::DEFAULT_WORLD), and rejected
/// if there is none. `wit` is the directory with the types of the world, in place of the contract
/// in this program. If the module imports WASI preview 1, an adapter to WASI 0.2 is linked into the
/// component. The same input yields the same component.
///
/// Whether a host accepts the component is a separate question, which [`crate::Sandbox::load`]
/// answers.
pub fn component(wasm: &[u8], world: Option<&str>, wit: Option<&Path>) -> Result<Vec<u8>, ComponentizeError> {
    if is_component(wasm)? {
        return Ok(wasm.to_vec());
    }
    let core = CoreModule::read(wasm)?;
    if core.is_program() {
        return Err(ComponentizeError::Program);
    }
    let typed = if core.typed { Cow::Borrowed(wasm) } else { Cow::Owned(with_types(wasm, world, wit)?) };
    let encode = || {
        let mut encoder = ComponentEncoder::default().validate(true).module(&typed)?;
        if core.imports.contains_key(PREVIEW1) {
            encoder = encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?;
        }
        encoder.encode()
    };
    encode().map_err(|error| explain(&core, &typed, format!("{error:#}")))
}

/// Returns whether the data is a component (`true`) or a core module (`false`).
pub(crate) fn is_component(wasm: &[u8]) -> Result<bool, ComponentizeError> {
    let size = wasm.len() as u64;
    if size > MAX_COMPONENT_BYTES {
        return Err(ComponentizeError::TooLarge { size, limit: MAX_COMPONENT_BYTES });
    }
    let not_wasm = |what: String| Err(ComponentizeError::NotWasm(what));
    match wasm.strip_prefix(MAGIC) {
        None if wasm.is_empty() => not_wasm("the file is empty".to_owned()),
        None => {
            let beginning: Vec<String> = wasm.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            not_wasm(format!("it begins with 0x{}", beginning.concat()))
        }
        Some([_, _, low, high, ..]) => Ok(u16::from_le_bytes([*low, *high]) == LAYER_COMPONENT),
        Some(_) => not_wasm(format!("it ends after {size} bytes")),
    }
}

/// Embeds the types of a world in the core module.
fn with_types(wasm: &[u8], world: Option<&str>, wit: Option<&Path>) -> Result<Vec<u8>, ComponentizeError> {
    let (resolve, world) = contract::world(wit, world.ok_or(ComponentizeError::NoTypes)?)?;
    let mut typed = wasm.to_vec();
    embed_component_metadata(&mut typed, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| ComponentizeError::Encode(format!("{error:#}")))?;
    Ok(typed)
}

/// Replaces an error of the encoder, which reports the first problem in its own terms, by one that
/// users can act on.
fn explain(core: &CoreModule, typed: &[u8], reason: String) -> ComponentizeError {
    let imports = core.strange_imports();
    if !imports.is_empty() {
        return ComponentizeError::Imports(imports);
    }
    if let Ok((_, bindgen)) = metadata::decode(typed) {
        let missing: Vec<String> = contract::wanted_exports(&bindgen.resolve, bindgen.world)
            .into_iter()
            .filter(|wanted| !core.exports.contains(wanted))
            .collect();
        if !missing.is_empty() {
            return ComponentizeError::Exports { missing, exports: core.exports.clone() };
        }
    }
    ComponentizeError::Encode(reason)
}

pub(crate) const PREVIEW1: &str = "wasi_snapshot_preview1";
/// The prefix of sections with the types of the future component. Each language adds its own
/// suffix.
const TYPES: &str = "component-type";
/// The maximum number of imports and exports. A module of a large language runtime has a few
/// hundred.
const MAX_NAMES: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct CoreModule {
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    pub(crate) exports: Vec<String>,
    /// Whether it embeds the types of the component that it will become.
    pub(crate) typed: bool,
}

impl CoreModule {
    pub(crate) fn read(wasm: &[u8]) -> Result<Self, ComponentizeError> {
        let mut found = Self::default();
        let mut names = 0;
        let mut count = || {
            names += 1;
            let reason = || format!("it has more than {MAX_NAMES} imports and exports");
            if names > MAX_NAMES { Err(ComponentizeError::Broken(reason())) } else { Ok(()) }
        };
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.map_err(broken)? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import.map_err(broken)?;
                        count()?;
                        found.imports.entry(import.module.to_owned()).or_default().push(import.name.to_owned());
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        count()?;
                        found.exports.push(export.map_err(broken)?.name.to_owned());
                    }
                }
                Payload::CustomSection(section) => found.typed |= section.name().starts_with(TYPES),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns whether it is a program, which runs once. A module is called repeatedly.
    pub(crate) fn is_program(&self) -> bool {
        let exports = |name: &str| self.exports.iter().any(|export| export == name);
        exports("_start") && !exports("_initialize")
    }

    /// Lists the imports that neither the contract nor an adapter provides, formatted for messages.
    pub(crate) fn strange_imports(&self) -> Vec<String> {
        let strange = |module: &&String| !FAMILIAR.iter().any(|familiar| module.starts_with(familiar));
        let shown = |module: &String| {
            let names = self.imports.get(module).map(Vec::as_slice).unwrap_or_default();
            let few: Vec<&str> = names.iter().take(MAX_SHOWN).map(String::as_str).collect();
            let more = if names.len() > MAX_SHOWN { ", …" } else { "" };
            format!("`{module}` ({}{more})", few.join(", "))
        };
        self.imports.keys().filter(strange).take(MAX_SHOWN).map(shown).collect()
    }
}

/// The maximum number of names that a message lists.
const MAX_SHOWN: usize = 8;

/// Prefixes of known import modules: the contract's interfaces, WASI, what tools add for resources,
/// and the names of the component model's own ABI.
const FAMILIAR: [&str; 6] = [PREVIEW1, "plumbline:plugin/", "wasi:", "[", "$", "cm32p2"];

pub(super) fn broken(error: BinaryReaderError) -> ComponentizeError {
    ComponentizeError::Broken(format!("at byte {}: {}", error.offset(), error.message()))
}

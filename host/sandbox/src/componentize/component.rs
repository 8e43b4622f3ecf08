//! Turns a core module into a component.

use std::borrow::Cow;

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata, metadata};

use crate::componentize::contract;
use crate::componentize::core_module::CoreModule;
use crate::componentize::error::ComponentizeError;
use crate::componentize::recipe::Recipe;

/// The first bytes of every WebAssembly file.
const MAGIC: &[u8] = b"\0asm";
/// The layer field of components. Core modules have 0.
const LAYER_COMPONENT: u16 = 1;

/// Returns the component of `wasm`, which is `wasm` itself if it already is one.
///
/// A core module with embedded types is encoded accordingly. One without types is treated as a
/// module of the recipe's world. If it imports WASI preview 1, an adapter to WASI 0.2 is linked
/// into the component. The same input yields the same component.
///
/// Whether a host accepts the component is a separate question, which [`crate::Sandbox::load`]
/// answers.
///
/// # Errors
///
/// Returns a [`ComponentizeError`] if the data is not WebAssembly, is too large, or does not match
/// the world.
pub fn component(wasm: &[u8], recipe: &Recipe<'_>) -> Result<Vec<u8>, ComponentizeError> {
    if is_component(wasm)? {
        return Ok(wasm.to_vec());
    }
    let core = CoreModule::read(wasm)?;
    if core.is_program() {
        return Err(ComponentizeError::Program);
    }
    let typed = if core.typed { Cow::Borrowed(wasm) } else { Cow::Owned(with_types(wasm, recipe)?) };
    let encode = || {
        let mut encoder = ComponentEncoder::default().validate(true).module(&typed)?;
        if core.wants_preview1() {
            encoder = encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?;
        }
        encoder.encode()
    };
    encode().map_err(|error| explain(&core, &typed, format!("{error:#}")))
}

/// Returns whether the data is a component (`true`) or a core module (`false`).
///
/// # Errors
///
/// Returns an error if it is neither, or too large.
pub fn is_component(wasm: &[u8]) -> Result<bool, ComponentizeError> {
    let size = wasm.len() as u64;
    if size > MAX_COMPONENT_BYTES {
        return Err(ComponentizeError::TooLarge { size, limit: MAX_COMPONENT_BYTES });
    }
    let not_wasm = |what: String| Err(ComponentizeError::NotWasm { what });
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

/// Embeds the types of the recipe's world in the core module.
fn with_types(wasm: &[u8], recipe: &Recipe<'_>) -> Result<Vec<u8>, ComponentizeError> {
    let name = recipe.world.ok_or(ComponentizeError::NoTypes)?;
    let (resolve, world) = contract::world(recipe.wit, name)?;
    let mut typed = wasm.to_vec();
    embed_component_metadata(&mut typed, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| ComponentizeError::Encode { reason: format!("{error:#}") })?;
    Ok(typed)
}

/// Replaces an error of the encoder, which reports the first problem in its own terms, by one that
/// users can act on.
fn explain(core: &CoreModule, typed: &[u8], reason: String) -> ComponentizeError {
    let imports = core.strange_imports();
    if !imports.is_empty() {
        return ComponentizeError::Imports { imports };
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
    ComponentizeError::Encode { reason }
}

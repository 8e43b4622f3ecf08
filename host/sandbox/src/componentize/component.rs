//! From a core module to a component.

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

/// What every WebAssembly file begins with.
const MAGIC: &[u8] = b"\0asm";
/// The layer field of components; core modules have 0.
const LAYER_COMPONENT: u16 = 1;

/// The component of `wasm`: itself if it is one. A core module that carries its types is encoded by them; one without is taken for a
/// module of the recipe's world. One that imports WASI preview 1 gets an adapter to WASI 0.2, which is linked into the component. The same
/// bytes give the same component.
///
/// That it is a component does not mean that a host takes it: [`crate::Sandbox::load`] says that.
///
/// # Errors
/// When the bytes are not WebAssembly, too large, or do not fit the world; see [`ComponentizeError`].
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

/// Whether these are the bytes of a component; `false`: of a core module.
///
/// # Errors
/// When they are neither, or too many.
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

/// The core module, with the types of the recipe's world.
fn with_types(wasm: &[u8], recipe: &Recipe<'_>) -> Result<Vec<u8>, ComponentizeError> {
    let name = recipe.world.ok_or(ComponentizeError::NoTypes)?;
    let (resolve, world) = contract::world(recipe.wit, name)?;
    let mut typed = wasm.to_vec();
    embed_component_metadata(&mut typed, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| ComponentizeError::Encode { reason: format!("{error:#}") })?;
    Ok(typed)
}

/// The encoder stops at the first thing that is wrong and names it in its own terms: say what a person can look for.
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

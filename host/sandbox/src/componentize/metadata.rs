//! The section with the metadata of a module.

use crate::{METADATA_SECTION, inspect};
use plumbline_core::Rights;
use serde::Serialize;
use serde_json::{Map, Value};
use wasm_encoder::{CustomSection, Encode, Section};
use wasmparser::{BinaryReader, BinaryReaderError};

use crate::componentize::component::{broken, is_component};
use crate::componentize::error::ComponentizeError;

/// The length of the file header: magic and version.
const HEADER: usize = 8;
const CUSTOM: u8 = 0;

/// The metadata of a module: the section `plumbline:module`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Metadata {
    /// The name of the module.
    pub name: String,
    /// The result formats that it handles.
    pub formats: Vec<String>,
    /// Glob patterns of the files that it reads if a definition does not select any.
    pub default_files: Vec<String>,
    /// The rules by which the host detects its files, as written in the section. Empty if there are
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub detect: Vec<Value>,
    /// The limits that it requests, with the keys and values of a definition. Empty if there are
    /// none.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub limits: Map<String, Value>,
    /// A JSON Schema of its options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The rights that it needs as a check.
    #[serde(skip_serializing_if = "Rights::is_empty")]
    pub rights: Rights,
}

/// Returns the component with `metadata` in place of its previous metadata. Everything else stays
/// the same, byte for byte.
pub fn set_metadata(component: &[u8], metadata: &Metadata) -> Result<Vec<u8>, ComponentizeError> {
    if !is_component(component)? {
        let what = "a core module cannot have metadata for the host".to_owned();
        return Err(ComponentizeError::NotWasm(what));
    }
    let mut out = without_section(component).map_err(broken)?;
    // A plain data type, which always becomes a value.
    let json = serde_json::to_value(metadata).unwrap_or_default().to_string();
    let section = CustomSection { name: METADATA_SECTION.into(), data: json.as_bytes().into() };
    out.push(section.id());
    section.encode(&mut out);
    inspect(&out).map_err(ComponentizeError::Metadata)?;
    Ok(out)
}

/// Returns a copy without the top-level metadata sections. Only section headers are parsed, and the
/// contents are copied unchanged.
fn without_section(component: &[u8]) -> Result<Vec<u8>, BinaryReaderError> {
    let mut out = component.get(..HEADER).unwrap_or(component).to_vec();
    let mut reader = BinaryReader::new(component.get(HEADER..).unwrap_or_default(), HEADER);
    while !reader.eof() {
        let id = reader.read_u8()?;
        let length = reader.read_var_u32()?;
        let content = reader.read_bytes(length as usize)?;
        let ours =
            id == CUSTOM && BinaryReader::new(content, 0).read_string().is_ok_and(|name| name == METADATA_SECTION);
        if !ours {
            out.push(id);
            content.encode(&mut out);
        }
    }
    Ok(out)
}

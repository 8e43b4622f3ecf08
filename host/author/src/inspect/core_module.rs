//! A core module: what a compiler makes before it becomes a component.

use wasmparser::{Parser, Payload};

use super::sections::shown;

/// Imports and exports that are listed.
const MAX_LISTED: usize = 1_000;

/// Names of what it imports (`module` `name`) and exports; the error is the parser's sentence.
pub(super) fn externs(wasm: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|error| error.to_string())? {
            Payload::ImportSection(section) => {
                for import in section.into_imports().take(MAX_LISTED) {
                    let import = import.map_err(|error| error.to_string())?;
                    imports.push(shown(&format!("{} {}", import.module, import.name)));
                }
            }
            Payload::ExportSection(section) => {
                for export in section.into_iter().take(MAX_LISTED) {
                    exports.push(shown(export.map_err(|error| error.to_string())?.name));
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

//! Inspects a core module, which is what a compiler produces before it becomes a component.

use wasmparser::{Parser, Payload};

use super::sections::shown;

/// Maximum number of imports and exports to list.
const MAX_LISTED: usize = 1_000;

/// Returns the imports (`module` `name`) and exports. The error is the parser's message.
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

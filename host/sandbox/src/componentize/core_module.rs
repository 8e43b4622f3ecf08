//! The imports and exports of a core module, read without compiling it.

use std::collections::BTreeMap;

use wasmparser::{BinaryReaderError, Parser, Payload};

use crate::componentize::error::ComponentizeError;

/// The import module of WASI preview 1.
pub(crate) const PREVIEW1: &str = "wasi_snapshot_preview1";
/// The prefix of sections with the types of the future component. Each language adds its own
/// suffix.
const TYPES: &str = "component-type";
/// The maximum number of imports and exports. A module of a large language runtime has a few
/// hundred.
const MAX_NAMES: usize = 100_000;

/// The external interface of a core module.
#[derive(Debug, Default)]
pub(crate) struct CoreModule {
    /// The names of its imports, by import module.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// The names of its exports.
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
            if names > MAX_NAMES { Err(ComponentizeError::Broken { reason: reason() }) } else { Ok(()) }
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

    /// Returns whether it is built for WASI preview 1.
    pub(crate) fn wants_preview1(&self) -> bool {
        self.imports.contains_key(PREVIEW1)
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

fn broken(error: BinaryReaderError) -> ComponentizeError {
    ComponentizeError::Broken { reason: format!("at byte {}: {}", error.offset(), error.message()) }
}

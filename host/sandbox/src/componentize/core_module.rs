//! What a core module asks for and offers, read without compiling it.

use std::collections::BTreeMap;

use wasmparser::{BinaryReaderError, Parser, Payload};

use crate::componentize::error::ComponentizeError;

/// Where a module for WASI preview 1 looks for the system.
pub(crate) const PREVIEW1: &str = "wasi_snapshot_preview1";
/// What compilers call the sections that carry the types of a component-to-be; each language adds something of its own.
const TYPES: &str = "component-type";
/// Imports, and exports, that are kept. A module of a large language runtime has some hundreds.
const MAX_NAMES: usize = 100_000;

/// The outside of a core module.
#[derive(Debug, Default)]
pub(crate) struct CoreModule {
    /// Names of what it imports, by the module that they are imported from.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// Names of what it exports.
    pub(crate) exports: Vec<String>,
    /// Whether it carries the types of the component that it is to become.
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

    /// Whether it is made for WASI preview 1.
    pub(crate) fn wants_preview1(&self) -> bool {
        self.imports.contains_key(PREVIEW1)
    }

    /// Whether it is a program, which begins, ends, and is dead then; a module is called again and again.
    pub(crate) fn is_program(&self) -> bool {
        let exports = |name: &str| self.exports.iter().any(|export| export == name);
        exports("_start") && !exports("_initialize")
    }

    /// Imports that neither the contract nor an adapter can give, as sentences.
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

/// Names that are shown of a list that may be long.
const MAX_SHOWN: usize = 8;

/// What the names of modules begin with that something can be imported from: the contract's interfaces, WASI, what tools add for
/// resources, and the names of the component model's own ABI.
const FAMILIAR: [&str; 6] = [PREVIEW1, "plumbline:plugin/", "wasi:", "[", "$", "cm32p2"];

fn broken(error: BinaryReaderError) -> ComponentizeError {
    ComponentizeError::Broken { reason: format!("at byte {}: {}", error.offset(), error.message()) }
}

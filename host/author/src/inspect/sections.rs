//! The parts of a WebAssembly file: its core modules, its custom sections, and the tools that
//! produced it.

use plumbline_core::text::steers_terminal;
use serde::Serialize;
use wasmparser::{CustomSectionReader, KnownCustom, Parser, Payload};

/// Maximum number of sections of one kind to list.
const MAX_LISTED: usize = 256;
/// Maximum number of characters of a name or version to show.
const MAX_TEXT: usize = 200;

/// The parts of a file, with their sizes in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sections {
    /// The sizes of its core modules, in the order of the file.
    #[serde(rename = "core-modules")]
    pub core_modules: Vec<u64>,
    /// Its custom sections, and those of its core modules. Sections with the same name are one
    /// entry.
    pub custom: Vec<CustomSection>,
    /// The tools that produced the file, according to itself.
    pub producers: Vec<Producer>,
}

/// A custom section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CustomSection {
    /// The name.
    pub name: String,
    /// The size in bytes; the total if several sections have the name.
    pub bytes: u64,
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
    /// Reads the sections. The error is the parser's message.
    pub(super) fn of(wasm: &[u8]) -> Result<Self, String> {
        let mut sections = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.map_err(|error| error.to_string())? {
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
            self.custom.push(CustomSection { name, bytes });
        }
    }
}

/// Returns text from an untrusted file with terminal control characters escaped.
pub(super) fn shown(text: &str) -> String {
    text.chars()
        .take(MAX_TEXT)
        .flat_map(|c| if steers_terminal(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

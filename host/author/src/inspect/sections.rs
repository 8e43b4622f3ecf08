//! What a WebAssembly file consists of: its core modules and custom sections, and who made it.

use plumbline_core::text::steers_terminal;
use serde::Serialize;
use wasmparser::{CustomSectionReader, KnownCustom, Parser, Payload};

/// Sections of one kind that are listed.
const MAX_LISTED: usize = 256;
/// Characters of a name or version that is shown.
const MAX_TEXT: usize = 200;

/// The parts of a file, and their sizes in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sections {
    /// Its core modules, in its order.
    #[serde(rename = "core-modules")]
    pub core_modules: Vec<u64>,
    /// Its custom sections, and those of its core modules; the same name is one entry.
    pub custom: Vec<CustomSection>,
    /// Who made it, as it says itself.
    pub producers: Vec<Producer>,
}

/// A custom section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CustomSection {
    /// Its name.
    pub name: String,
    /// Its bytes; of all together, if there are several of the name.
    pub bytes: u64,
}

/// An entry of the section `producers`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`.
    pub field: String,
    /// The tool.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
}

impl Sections {
    /// Reads them; the error is the parser's sentence.
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
            // What cannot be read of it is left out: it changes nothing of what the module does.
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

/// Text of a file from anywhere, as it can be shown on a terminal.
pub(super) fn shown(text: &str) -> String {
    text.chars()
        .take(MAX_TEXT)
        .flat_map(|c| if steers_terminal(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

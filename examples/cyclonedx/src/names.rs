//! What components are called, by the reference that vulnerabilities name them by.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Components whose names are kept. A large image has about 5,000; a hostile document has as many as it likes.
pub const MAX_NAMES: usize = 100_000;

/// Characters of a name that are kept.
const MAX_CHARS: usize = 120;

/// The names. References are long (package URLs with qualifiers), so a hash of each is kept in their place; two of 100,000
/// references share one with a probability of less than one in a billion, and then a name in a report is wrong.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<u64, String>);

impl Names {
    /// Keeps what the component is called, if there is room.
    pub(crate) fn insert(&mut self, reference: &str, name: &str, version: &str) {
        if self.0.len() < MAX_NAMES {
            let name = if version.is_empty() { name.to_owned() } else { format!("{name} {version}") };
            self.0.insert(hash(reference), cut(&name, MAX_CHARS));
        }
    }

    /// What the component is called; the reference itself where nobody said.
    pub(crate) fn get(&self, reference: &str) -> String {
        self.0.get(&hash(reference)).cloned().unwrap_or_else(|| cut(reference, MAX_CHARS))
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The first characters of a text, and a sign where something was cut off.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

//! The names of components, by the references that vulnerabilities use.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of components whose names are kept. A large image has about 5,000, and a hostile
/// document may have any number.
pub const MAX_NAMES: usize = 100_000;

/// Maximum number of characters of a name.
const MAX_CHARS: usize = 120;

/// The names. References are long (package URLs with qualifiers), so only a hash of each is kept.
/// The probability that two of 100,000 references have the same hash is less than one in a billion.
/// A name in a report would then be wrong.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<u64, String>);

impl Names {
    /// Stores the name of a component, if there is room.
    pub(crate) fn insert(&mut self, reference: &str, name: &str, version: &str) {
        if self.0.len() < MAX_NAMES {
            let name = if version.is_empty() { name.to_owned() } else { format!("{name} {version}") };
            self.0.insert(hash(reference), cut(&name, MAX_CHARS));
        }
    }

    /// Returns the name of a component, or else the reference itself.
    pub(crate) fn get(&self, reference: &str) -> String {
        self.0.get(&hash(reference)).cloned().unwrap_or_else(|| cut(reference, MAX_CHARS))
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns the first characters of a text, with `…` if something was cut.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

//! What a definition may ask of this module.

use serde::Deserialize;

/// Names in `keep` at most: each one is compared with every attribute of every test case.
const MAX_KEEP: usize = 64;

/// The word in `keep` that stands for the element of that name.
const PROPERTIES: &str = "properties";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    keep: Vec<String>,
}

impl Options {
    /// The options, if they are within their bounds.
    pub(crate) fn checked(self) -> Result<Self, String> {
        if self.keep.len() > MAX_KEEP {
            return Err(format!(
                "the module's option `keep` has {} names: at most {MAX_KEEP} are possible",
                self.keep.len()
            ));
        }
        Ok(self)
    }

    /// Whether the attribute of that name is to be kept.
    pub(crate) fn keeps(&self, attribute: &[u8]) -> bool {
        self.keep.iter().any(|name| name.as_bytes() == attribute)
    }

    /// Whether properties are to be kept.
    pub(crate) fn keeps_properties(&self) -> bool {
        self.keeps(PROPERTIES.as_bytes())
    }
}

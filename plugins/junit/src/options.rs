//! The options of the module.

use serde::Deserialize;

/// Maximum number of names in `keep`, because each one is compared with every attribute of every
/// test case.
const MAX_KEEP: usize = 64;

/// The word in `keep` for the element of that name.
const PROPERTIES: &str = "properties";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    keep: Vec<String>,
}

impl Options {
    /// Returns the options after checking their limits.
    pub(crate) fn checked(self) -> Result<Self, String> {
        if self.keep.len() > MAX_KEEP {
            return Err(format!(
                "the module's option `keep` has {} names: at most {MAX_KEEP} are possible",
                self.keep.len()
            ));
        }
        Ok(self)
    }

    /// Returns whether to keep the attribute with this name.
    pub(crate) fn keeps(&self, attribute: &[u8]) -> bool {
        self.keep.iter().any(|name| name.as_bytes() == attribute)
    }

    /// Returns whether to keep properties.
    pub(crate) fn keeps_properties(&self) -> bool {
        self.keeps(PROPERTIES.as_bytes())
    }
}

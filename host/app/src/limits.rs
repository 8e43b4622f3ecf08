//! The operator's limits: the defaults, or the values of a file (docs/limits.md).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plumbline_aggregator::LimitPolicy;
use plumbline_core::{ModuleLimits, ReceiveLimits};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::AppError;

/// The largest file, in bytes. All keys together take about 1 KiB.
const MAX_BYTES: u64 = 1 << 20;

/// Limits on what comes from others: modules and uploads.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// What modules may use.
    pub modules: LimitPolicy,
    /// What uploads may use.
    pub uploads: ReceiveLimits,
}

/// The content of the file. Keys that it omits keep their defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Document {
    modules: Map<String, Value>,
    cap: Map<String, Value>,
    uploads: Map<String, Value>,
}

impl Limits {
    /// Reads the file at `path`; without one, the limits are the defaults.
    ///
    /// # Errors
    /// The file cannot be read, or has an unknown key or an invalid value.
    pub fn load(path: Option<&Path>) -> Result<Self, AppError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let wrong = |error: &dyn std::error::Error| {
            AppError::usage(format!("invalid limits in `{}`", path.display())).because(error)
        };
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
            .map_err(|error| wrong(&error))?;
        let document: Document = serde_saphyr::from_str(&text).map_err(|error| wrong(&error))?;
        let modules = LimitPolicy {
            default: overlay(&ModuleLimits::default(), document.modules).map_err(|error| wrong(&error))?,
            cap: overlay(&ModuleLimits::cap(), document.cap).map_err(|error| wrong(&error))?,
        };
        Ok(Self {
            modules,
            uploads: overlay(&ReceiveLimits::default(), document.uploads).map_err(|error| wrong(&error))?,
        })
    }
}

/// Replaces values of `base` by those of `over`. A key that `base` does not have is an error.
fn overlay<T: Serialize + DeserializeOwned>(base: &T, over: Map<String, Value>) -> Result<T, serde_json::Error> {
    let mut value = serde_json::to_value(base)?;
    if let Value::Object(fields) = &mut value {
        fields.extend(over);
    }
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn load(text: &str) -> Result<Limits, AppError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Limits::load(Some(file.path()))
    }

    #[test]
    fn what_the_file_says_replaces_the_default_and_nothing_else() {
        let limits = load("modules: {memory: 1048576}\ncap: {depth: 9}\nuploads: {entries: 3}\n").unwrap();
        assert_eq!(limits.modules.default, ModuleLimits { memory: 1 << 20, ..ModuleLimits::default() });
        assert_eq!(limits.modules.cap, ModuleLimits { depth: 9, ..ModuleLimits::cap() });
        assert_eq!(limits.uploads, ReceiveLimits { entries: 3, ..ReceiveLimits::default() });
    }

    #[test]
    fn an_unknown_limit_is_named() {
        for (text, name) in
            [("modules: {memroy: 1}", "memroy"), ("module: {}", "module"), ("cap: {items: many}", "many")]
        {
            let error = load(text).unwrap_err().in_full();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn without_a_file_the_defaults_hold() {
        assert_eq!(Limits::load(None).unwrap().uploads, ReceiveLimits::default());
    }
}

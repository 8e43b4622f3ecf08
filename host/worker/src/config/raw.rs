//! The raw values, and the source of each.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::{ConfigError, Problem};
use super::key::Key;

/// Maximum size of a configuration file: 1 MiB. Three PEM texts and a few names need less than 10
/// KiB.
pub const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// A string and its source.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) text: String,
    pub(super) from: String,
}

/// The values found.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) values: BTreeMap<Key, Given>,
    pub(super) problems: Vec<Problem>,
}

impl Raw {
    /// Reads the file, if any, and then the environment, which takes precedence.
    ///
    /// The environment belongs to this container, while a file is often part of an image or shared
    /// by many containers.
    pub(super) fn read(
        file: Option<&Path>,
        environment: &dyn Fn(&str) -> Result<String, VarError>,
    ) -> Result<Self, ConfigError> {
        let mut raw = Self::default();
        if let Some(path) = file {
            raw.add_file(path)?;
        }
        raw.add_environment(environment);
        Ok(raw)
    }

    fn add_environment(&mut self, environment: &dyn Fn(&str) -> Result<String, VarError>) {
        for key in Key::ALL {
            for name in key.variables() {
                match environment(name) {
                    Ok(text) if text.trim().is_empty() => {}
                    Ok(text) => {
                        self.values.insert(key, Given { text, from: format!("`{name}`") });
                        break;
                    }
                    Err(VarError::NotPresent) => {}
                    Err(VarError::NotUnicode(_)) => {
                        let why = "is not valid UTF-8".to_owned();
                        self.problems.push(Problem::Wrong { key, from: format!("`{name}`"), why });
                        break;
                    }
                }
            }
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let read = |source| ConfigError::Read { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        File::open(path).map_err(read)?.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
        if bytes.len() as u64 > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge { path: path.to_owned(), limit: MAX_CONFIG_BYTES });
        }
        let not_an_object = |source| ConfigError::NotAnObject { path: path.to_owned(), source };
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| not_an_object(Some(e)))?;
        let serde_json::Value::Object(object) = value else { return Err(not_an_object(None)) };
        for (name, value) in object {
            self.add_file_entry(path, &name, &value);
        }
        Ok(())
    }

    fn add_file_entry(&mut self, path: &Path, name: &str, value: &serde_json::Value) {
        let Some(key) = Key::ALL.into_iter().find(|k| k.file_key().is_some_and(|f| f.eq_ignore_ascii_case(name)))
        else {
            tracing::warn!(file = %path.display(), key = name, "unknown key in the worker's configuration file is ignored");
            return;
        };
        let from = format!("`{name}` in `{}`", path.display());
        // Many users write a port as a number, although the reference specifies a string.
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) if key == Key::ProgressPort => number.to_string(),
            serde_json::Value::Null => return,
            _ => {
                self.problems.push(Problem::Wrong { key, from, why: "must be a text".to_owned() });
                return;
            }
        };
        if text.trim().is_empty() {
            return;
        }
        if self.values.insert(key, Given { text, from: from.clone() }).is_some() {
            self.problems.push(Problem::Wrong { key, from, why: "is given twice, in different case".to_owned() });
        }
    }
}

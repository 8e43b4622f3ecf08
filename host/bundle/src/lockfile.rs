//! `plumbline.lock`: which plugins, and which modules, exactly.

use std::collections::BTreeMap;

use plumbline_core::definition::MAX_YAML_BYTES;
use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::lock_mismatch::{BundleMismatch, LockMismatch};

/// What a lock file is called.
pub const LOCK_FILE: &str = "plumbline.lock";

/// The version of the format. A reader refuses a later one.
const VERSION: u32 = 1;

/// What stands above.
const HEADING: &str = "# Which plugins, exactly. Written by `plumbline plugin lock`; keep it under version control.\n";

/// A set of plugins by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    plugins: BTreeMap<String, LockedPlugin>,
}

/// One plugin of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LockedPlugin {
    /// The plugin's name in a run.
    pub name: String,
    /// What was asked for: a path, an address, a reference, a name.
    pub source: String,
    /// The digest of the bundle, if it came as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Digest>,
    /// The digest of the definition's file, if it came alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// The bundle's modules, sorted by file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<LockedModule>,
}

/// One module of a locked bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedModule {
    /// Its file in the bundle.
    pub file: String,
    /// Its digest.
    pub digest: Digest,
}

/// A plugin as it was found.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its name in the run.
    pub name: &'a str,
    /// What was asked for.
    pub origin: &'a str,
    /// The digest of its definition's file.
    pub definition: Digest,
    /// Its bundle, if it came as one.
    pub bundle: Option<&'a Bundle>,
}

/// Why a text is no lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It is larger than any lock.
    #[error("it has more than {MAX_YAML_BYTES} bytes")]
    TooLarge,
    /// It is not what a lock looks like.
    #[error("it is not a lock file: {0}")]
    Malformed(String),
    /// It was written by a later version of this program.
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// A plugin has both digests, or none.
    #[error("plugin `{0}` must have one digest, `bundle` or `definition`")]
    OneDigest(String),
    /// A plugin stands twice.
    #[error("plugin `{0}` is listed twice")]
    Twice(String),
    /// It cannot be written down.
    #[error("it cannot be written: {0}")]
    Write(String),
}

/// The file. What is not known in it is refused: a digest that is not understood must not be passed over.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    plugins: Vec<LockedPlugin>,
}

/// What every version has.
#[derive(Debug, Deserialize)]
struct AnyVersion {
    version: u32,
}

impl Lock {
    /// The lock of these plugins.
    ///
    /// # Errors
    /// [`LockError::Twice`] when two have one name.
    pub fn of(subjects: &[Subject<'_>]) -> Result<Self, LockError> {
        let locked = |subject: &Subject<'_>| LockedPlugin {
            name: subject.name.to_owned(),
            source: subject.origin.to_owned(),
            bundle: subject.bundle.map(Bundle::digest),
            definition: subject.bundle.is_none().then_some(subject.definition),
            modules: subject.bundle.map(modules).unwrap_or_default(),
        };
        Self::collect(subjects.iter().map(locked))
    }

    /// Reads a lock file.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if text.len() > MAX_YAML_BYTES {
            return Err(LockError::TooLarge);
        }
        let malformed = |error: serde_saphyr::Error| LockError::Malformed(error.to_string());
        // The version first: what a later one has otherwise would only be called malformed.
        let AnyVersion { version } = serde_saphyr::from_str(text).map_err(malformed)?;
        if version != VERSION {
            return Err(LockError::Version(version));
        }
        let document: Document = serde_saphyr::from_str(text).map_err(malformed)?;
        if let Some(odd) = document.plugins.iter().find(|plugin| plugin.bundle.is_some() == plugin.definition.is_some())
        {
            return Err(LockError::OneDigest(odd.name.clone()));
        }
        Self::collect(document.plugins)
    }

    /// The text of the lock file: sorted, so that differences are those of the plugins.
    ///
    /// # Errors
    /// [`LockError::Write`].
    pub fn to_yaml(&self) -> Result<String, LockError> {
        let document = Document { version: VERSION, plugins: self.plugins.values().cloned().collect() };
        let text = serde_saphyr::to_string(&document).map_err(|error| LockError::Write(error.to_string()))?;
        Ok(format!("{HEADING}{}\n", text.trim_end()))
    }

    /// The plugins, sorted by name.
    pub fn plugins(&self) -> impl Iterator<Item = &LockedPlugin> {
        self.plugins.values()
    }

    /// Checks that a plugin is the locked one. Where it comes from does not matter, only what it is.
    ///
    /// # Errors
    /// [`LockMismatch`], a sentence that says what differs.
    pub fn check(&self, subject: &Subject<'_>) -> Result<(), LockMismatch> {
        let (name, origin) = (subject.name.to_owned(), subject.origin.to_owned());
        let Some(locked) = self.plugins.get(subject.name) else {
            return Err(LockMismatch::Unknown { name, origin, known: self.plugins.keys().cloned().collect() });
        };
        match (subject.bundle, locked.bundle, locked.definition) {
            (Some(bundle), Some(digest), _) if bundle.digest() == digest => Ok(()),
            (Some(bundle), Some(digest), _) => Err(LockMismatch::Bundle(Box::new(BundleMismatch {
                name,
                origin,
                locked: digest,
                actual: bundle.digest(),
                modules: compare(&locked.modules, &modules(bundle)),
            }))),
            (None, None, Some(digest)) if subject.definition == digest => Ok(()),
            (None, None, Some(digest)) => {
                Err(LockMismatch::Definition { name, origin, locked: digest, actual: subject.definition })
            }
            (_, digest, _) => Err(LockMismatch::Kind { name, origin, bundle: digest.is_some() }),
        }
    }

    fn collect(plugins: impl IntoIterator<Item = LockedPlugin>) -> Result<Self, LockError> {
        let mut by_name = BTreeMap::new();
        for mut plugin in plugins {
            plugin.modules.sort_by(|a, b| a.file.cmp(&b.file));
            if let Some(first) = by_name.insert(plugin.name.clone(), plugin) {
                return Err(LockError::Twice(first.name));
            }
        }
        Ok(Self { plugins: by_name })
    }
}

fn modules(bundle: &Bundle) -> Vec<LockedModule> {
    bundle.modules.iter().map(|module| LockedModule { file: module.file.clone(), digest: module.digest }).collect()
}

/// What is different, as parts of a sentence.
fn compare(locked: &[LockedModule], actual: &[LockedModule]) -> Vec<String> {
    let of =
        |list: &[LockedModule], file: &str| list.iter().find(|module| module.file == file).map(|module| module.digest);
    let mut told = Vec::new();
    for module in locked {
        match of(actual, &module.file) {
            None => told.push(format!("module `{}` is gone", module.file)),
            Some(digest) if digest != module.digest => {
                told.push(format!("module `{}` has {digest}, and {} is locked", module.file, module.digest));
            }
            Some(_) => {}
        }
    }
    let new = actual.iter().filter(|module| of(locked, &module.file).is_none());
    told.extend(new.map(|module| format!("module `{}` is new", module.file)));
    told
}

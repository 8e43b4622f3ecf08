//! The lock file `plumbline.lock`, which pins plugins and modules by digest.

use std::collections::BTreeMap;

use plumbline_core::definition::MAX_YAML_BYTES;
use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;
use plumbline_core::Digest;

/// Name of the lock file.
pub const LOCK_FILE: &str = "plumbline.lock";

/// Version of the format. A reader rejects any other version.
const VERSION: u32 = 1;

/// Comment on the first line of the file.
const HEADING: &str =
    "# The exact versions of plugins. Written by `plumbline plugin lock`; keep it under version control.\n";

/// A set of plugins, pinned by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    plugins: BTreeMap<String, LockedPlugin>,
}

/// One plugin of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LockedPlugin {
    /// Name of the plugin in a run.
    pub name: String,
    /// The source that the user requested: a path, a URL, a reference, or a name.
    pub source: String,
    /// Digest of the bundle, if the plugin is a bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Digest>,
    /// Digest of the definition's file, if the plugin is a bare definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// Modules of the bundle, sorted by file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<LockedModule>,
}

/// One module of a locked bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedModule {
    /// File name of the module in the bundle.
    pub file: String,
    /// Digest of the file.
    pub digest: Digest,
}

/// A plugin as it was found, for comparison with a lock.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Name of the plugin in the run.
    pub name: &'a str,
    /// The source that the user requested.
    pub origin: &'a str,
    /// Digest of the definition's file.
    pub definition: Digest,
    /// The bundle, if the plugin is one.
    pub bundle: Option<&'a Bundle>,
}

/// Error while reading or writing a lock file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file is larger than any lock file.
    #[error("it has more than {MAX_YAML_BYTES} bytes")]
    TooLarge,
    /// The file does not have the structure of a lock file.
    #[error("it is not a lock file: {0}")]
    Malformed(String),
    /// The file has a version that this program does not read.
    #[error("unsupported version {0}: this program reads version {VERSION}")]
    Version(u32),
    /// A plugin has both digests, or neither.
    #[error("plugin `{0}` must have one digest, `bundle` or `definition`")]
    OneDigest(String),
    /// A plugin is listed twice.
    #[error("plugin `{0}` is listed twice")]
    Twice(String),
    /// The lock could not be serialized.
    #[error("failed to write it: {0}")]
    Write(String),
}

/// The lock file. Unknown keys are rejected, because a digest that this program does not understand
/// must not be ignored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    plugins: Vec<LockedPlugin>,
}

/// The part that every version has.
#[derive(Debug, Deserialize)]
struct AnyVersion {
    version: u32,
}

impl Lock {
    /// Creates a lock of `subjects`.
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
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if text.len() > MAX_YAML_BYTES {
            return Err(LockError::TooLarge);
        }
        let malformed = |error: serde_saphyr::Error| LockError::Malformed(error.to_string());
        // Check the version first. Otherwise a file of a later version would only be reported as
        // malformed.
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

    /// Returns the text of the lock file. Plugins are sorted, so that a diff shows only real
    /// changes.
    pub fn to_yaml(&self) -> Result<String, LockError> {
        let document = Document { version: VERSION, plugins: self.plugins.values().cloned().collect() };
        let text = serde_saphyr::to_string(&document).map_err(|error| LockError::Write(error.to_string()))?;
        Ok(format!("{HEADING}{}\n", text.trim_end()))
    }

    /// Returns the plugins, sorted by name.
    pub fn plugins(&self) -> impl Iterator<Item = &LockedPlugin> {
        self.plugins.values()
    }

    /// Checks that a plugin is the locked one. Only its content counts, not its source.
    pub fn check(&self, subject: &Subject<'_>) -> Result<(), LockMismatch> {
        let Subject { name, origin, .. } = subject;
        let Some(locked) = self.plugins.get(*name) else {
            let known: Vec<String> = self.plugins.keys().map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let what = format!("plugin `{name}` (`{origin}`) is not in the lock file, which has {known}");
            return Err(LockMismatch { what, is_known: false });
        };
        let what = match (subject.bundle, locked.bundle, locked.definition) {
            (Some(bundle), Some(digest), _) if bundle.digest() == digest => return Ok(()),
            (None, None, Some(digest)) if subject.definition == digest => return Ok(()),
            (Some(bundle), Some(digest), _) => {
                let actual = bundle.digest();
                let modules = compare(&locked.modules, &modules(bundle));
                let modules =
                    if modules.is_empty() { "its modules are the locked ones".to_owned() } else { modules.join("; ") };
                format!(
                    "plugin `{name}`: the bundle `{origin}` is not the locked one: it has {actual}, expected {digest}; {modules}"
                )
            }
            (None, None, Some(digest)) => format!(
                "plugin `{name}`: the definition `{origin}` is not the locked one: it has {}, expected {digest}",
                subject.definition
            ),
            (_, digest, _) => {
                let kind = |bundle| if bundle { "bundle" } else { "definition without a bundle" };
                let (locked, actual) = (kind(digest.is_some()), kind(digest.is_none()));
                format!("plugin `{name}` is locked as a {locked}, but `{origin}` is a {actual}")
            }
        };
        Err(LockMismatch { what, is_known: true })
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

/// Returns the differences between two lists of modules, as phrases.
fn compare(locked: &[LockedModule], actual: &[LockedModule]) -> Vec<String> {
    let of =
        |list: &[LockedModule], file: &str| list.iter().find(|module| module.file == file).map(|module| module.digest);
    let mut differences = Vec::new();
    for module in locked {
        match of(actual, &module.file) {
            None => differences.push(format!("module `{}` is missing", module.file)),
            Some(digest) if digest != module.digest => {
                differences.push(format!("module `{}` has {digest}, expected {}", module.file, module.digest));
            }
            Some(_) => {}
        }
    }
    let new = actual.iter().filter(|module| of(locked, &module.file).is_none());
    differences.extend(new.map(|module| format!("module `{}` is new", module.file)));
    differences
}

/// How a plugin differs from the locked one, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct LockMismatch {
    what: String,
    /// Whether the lock has a plugin of this name.
    is_known: bool,
}

impl LockMismatch {
    /// Returns a hint with the fix.
    pub fn hint(&self) -> &'static str {
        match self.is_known {
            false => "lock all plugins again: `plumbline plugin lock -p REF -p REF`",
            true => "review the change; to accept it, lock all plugins again: `plumbline plugin lock -p REF -p REF`",
        }
    }
}

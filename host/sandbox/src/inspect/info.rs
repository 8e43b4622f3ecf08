//! What a component is, for those who choose among modules.

use plumbline_core::definition::LimitsRequest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::metadata::DetectRule;
use super::metadata::Metadata;
use super::shape::Shape;
use super::{encoding, walk};
use crate::error::InspectError;
use crate::generation::{EXPECTATIONS, JUDGE, PACKAGE, POST_PROCESSOR, SUMMARIZER, split_name};

/// What a component is. From [`inspect`] it is what the file itself says; from [`Module::info`](crate::Module::info), what was left
/// out is filled in: the name is the one that it was loaded under, the formats are that name, the default files are all.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleInfo {
    /// Its name. `None`: it says none.
    pub name: Option<String>,
    /// The result formats that it answers to.
    pub formats: Vec<String>,
    /// Glob patterns of the files that it takes when a definition names none.
    pub default_files: Vec<String>,
    /// How files of its formats are detected; empty: they are not.
    pub detect: Vec<DetectRule>,
    /// Limits that it asks for: a wish. What a call gets is decided by who makes it, within the operator's cap
    /// ([`effective_limits`](plumbline_core::definition::effective_limits)).
    pub limits: LimitsRequest,
    /// The version of `plumbline:plugin` that it was made for, such as `0.1.0`; the first one if it names several. `None`: it
    /// names none.
    pub generation: Option<String>,
    /// The roles that it can play.
    pub roles: Roles,
    /// What it imports, as it names it.
    pub imports: Vec<String>,
    /// What it exports, as it names it.
    pub exports: Vec<String>,
    /// Its size in bytes.
    pub size: u64,
    /// SHA-256 of its bytes, in hexadecimal.
    pub digest: String,
    /// A JSON Schema of its options.
    pub schema: Option<Value>,
}

impl ModuleInfo {
    /// What the file left out, as for a module that is loaded as `name`.
    pub(crate) fn fill_in(&mut self, name: &str) {
        let own = self.name.get_or_insert_with(|| name.to_owned());
        if self.formats.is_empty() {
            self.formats.push(own.clone());
        }
        if self.default_files.is_empty() {
            self.default_files.push("**".to_owned());
        }
    }
}

/// The roles that a module can play: the interfaces of `plumbline:plugin` that it exports, in any version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roles {
    /// It turns files into items.
    pub post_processor: bool,
    /// It says which results must arrive.
    pub expectations: bool,
    /// It says what all results of a plugin come to.
    pub summarizer: bool,
    /// It says what of a finished tree counts.
    pub judge: bool,
}

/// Reads what a component is, without compiling or running it. Takes time in proportion to the size.
///
/// # Errors
/// When the bytes are not a component, are cut off or broken, or hold metadata that cannot be understood. That a component can be
/// inspected does not mean that it is valid: [`Sandbox::load`](crate::Sandbox::load) checks that.
pub fn inspect(wasm: &[u8]) -> Result<ModuleInfo, InspectError> {
    inspect_all(wasm).map(|inspected| inspected.info)
}

/// [`ModuleInfo`], and what only loading needs.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) info: ModuleInfo,
    /// SHA-256 of the bytes.
    pub(crate) digest: [u8; 32],
    /// Every version of `plumbline:plugin` that is named.
    pub(crate) generations: Vec<String>,
    /// Imports that are not instances: functions, modules, components.
    pub(crate) odd_imports: Vec<String>,
    /// The size of one instance.
    pub(crate) shape: Shape,
}

pub(crate) fn inspect_all(wasm: &[u8]) -> Result<Inspected, InspectError> {
    encoding::check(wasm)?;
    let found = walk::walk(wasm)?;
    let metadata = found.metadata.map(Metadata::parse).transpose()?;

    let mut roles = Roles::default();
    for (name, instance) in &found.exports {
        let (interface, _) = split_name(name);
        roles.post_processor |= *instance && interface == POST_PROCESSOR;
        roles.expectations |= *instance && interface == EXPECTATIONS;
        roles.summarizer |= *instance && interface == SUMMARIZER;
        roles.judge |= *instance && interface == JUDGE;
    }
    // Exports first: a role's version is what the host will be held to.
    let names = found.exports.iter().map(|(name, _)| name).chain(found.imports.iter().map(|import| &import.name));
    let mut generations: Vec<String> = Vec::new();
    for name in names {
        let (interface, version) = split_name(name);
        if interface.starts_with(PACKAGE) && !generations.iter().any(|known| known == version) {
            generations.push(version.to_owned());
        }
    }

    let named = metadata.is_some();
    let metadata = metadata.unwrap_or_default();
    let digest: [u8; 32] = Sha256::digest(wasm).into();
    let info = ModuleInfo {
        name: named.then_some(metadata.name),
        formats: metadata.formats,
        default_files: metadata.default_files,
        detect: metadata.detect,
        limits: metadata.limits,
        generation: generations.first().cloned(),
        roles,
        imports: found.imports.iter().map(|import| import.name.clone()).collect(),
        exports: found.exports.into_iter().map(|(name, _)| name).collect(),
        size: wasm.len() as u64,
        digest: hex::encode(digest),
        schema: metadata.schema,
    };
    let odd_imports = found.imports.into_iter().filter(|import| !import.instance).map(|import| import.name).collect();
    Ok(Inspected { info, digest, generations, odd_imports, shape: found.shape })
}

//! The metadata of a component, used to select modules, and the imports that it may have.

use plumbline_core::Rights;
use plumbline_core::definition::LimitsRequest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::InspectError;
use crate::generation::{CHECK, EXPECTATIONS, JUDGE, PACKAGE, POST_PROCESSOR, SUMMARIZER, split_name};
use crate::inspect::metadata::{DetectRule, Metadata};
use crate::inspect::structure::{Shape, walk};

/// The layer field of components. Core modules have 0.
const LAYER_COMPONENT: u16 = 1;
/// The version field of the component format in use since 2023.
const VERSION_COMPONENT: u16 = 0x0d;
const VERSION_CORE: u16 = 1;

/// The WASI 0.2 interfaces that language runtimes import. They are present but empty. Sockets and
/// HTTP are not provided at all.
const WASI: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// The supported versions of WASI.
const WASI_VERSION: &str = "0.2.";

/// The interfaces of `plumbline:plugin` that the host provides.
const OFFERED: &[&str] =
    &["cluster", "input", "judgement", "log", "network", "output", "ownership", "progress", "results", "types"];

/// The metadata of a component.
///
/// [`inspect`] returns what the file itself declares. [`Module::info`](crate::Module::info) fills
/// in missing values: the name is the one under which it was loaded, the formats consist of that
/// name, and the default files are all files.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleInfo {
    /// The name of the module, if declared.
    pub name: Option<String>,
    /// The result formats that it handles.
    pub formats: Vec<String>,
    /// Glob patterns of the files that it reads if a definition does not select any.
    pub default_files: Vec<String>,
    /// The rules for detecting files of its formats. Empty if they cannot be detected.
    pub detect: Vec<DetectRule>,
    /// The limits that it requests. The caller decides which limits a call gets, within the
    /// operator's cap ([`effective_limits`](plumbline_core::definition::effective_limits)).
    pub limits: LimitsRequest,
    /// The version of `plumbline:plugin` for which it was built, such as `0.1.0`. If there are
    /// several, the first one. `None` if it declares none.
    pub generation: Option<String>,
    /// The roles that it implements.
    pub roles: Roles,
    /// The names of its imports.
    pub imports: Vec<String>,
    /// The names of its exports.
    pub exports: Vec<String>,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 digest in hexadecimal.
    pub digest: String,
    /// A JSON Schema of its options.
    pub schema: Option<Value>,
    /// The rights that it needs as a check.
    pub rights: Rights,
}

impl ModuleInfo {
    /// Fills in missing values for a module that is loaded as `name`.
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

/// The roles that a module implements: the interfaces of `plumbline:plugin` that it exports, in any
/// version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roles {
    /// Whether it turns files into items.
    pub post_processor: bool,
    /// Whether it determines the expected results.
    pub expectations: bool,
    /// Whether it summarizes all results of a plugin.
    pub summarizer: bool,
    /// Whether it decides what in a finished tree counts.
    pub judge: bool,
    /// Whether it is a check, which a plugin can run in place of an image.
    pub check: bool,
}

impl Roles {
    /// Returns the names of the roles in the contract.
    pub fn names(self) -> Vec<&'static str> {
        let names = [
            (self.post_processor, "post-processor"),
            (self.expectations, "expectations"),
            (self.summarizer, "summarizer"),
            (self.judge, "judge"),
            (self.check, "check"),
        ];
        names.into_iter().filter(|(plays, _)| *plays).map(|(_, name)| name).collect()
    }
}

/// Reads the metadata of a component without compiling or running it. Takes time in proportion to
/// the size.
///
/// # Errors
/// Returns an error if the data is not a component, is truncated or invalid, or has invalid
/// metadata. Inspection does not prove that a component is valid, which
/// [`Sandbox::load`](crate::Sandbox::load) checks.
pub fn inspect(wasm: &[u8]) -> Result<ModuleInfo, InspectError> {
    inspect_all(wasm).map(|inspected| inspected.info)
}

/// Returns the imports of a component that are not available to modules, in the component's order.
/// [`Sandbox::load`](crate::Sandbox::load) rejects the component because of them.
pub fn refused_imports(wasm: &[u8]) -> Result<Vec<String>, InspectError> {
    inspect_all(wasm).map(|inspected| inspected.refused)
}

/// A [`ModuleInfo`], and data that only loading needs.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) info: ModuleInfo,
    pub(crate) digest: [u8; 32],
    pub(crate) generations: Vec<String>,
    /// The imports that are not available to modules, in the component's order.
    pub(crate) refused: Vec<String>,
    /// The size of one instance.
    pub(crate) shape: Shape,
}

pub(crate) fn inspect_all(wasm: &[u8]) -> Result<Inspected, InspectError> {
    check_header(wasm)?;
    let found = walk(wasm)?;
    let metadata = found.metadata.map(Metadata::parse).transpose()?;

    let mut roles = Roles::default();
    for (name, instance) in &found.exports {
        let (interface, _) = split_name(name);
        roles.post_processor |= *instance && interface == POST_PROCESSOR;
        roles.expectations |= *instance && interface == EXPECTATIONS;
        roles.summarizer |= *instance && interface == SUMMARIZER;
        roles.judge |= *instance && interface == JUDGE;
        roles.check |= *instance && interface == CHECK;
    }
    // Exports come first, because the version of a role determines how the host calls it.
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
        rights: metadata.rights,
    };
    // Modules get instances only, no functions, modules or components.
    let refused = found.imports.into_iter().filter(|import| !import.instance || !allowed(&import.name));
    let refused = refused.map(|import| import.name).collect();
    Ok(Inspected { info, digest, generations, refused, shape: found.shape })
}

/// Rejects a file that is not a component, and reports what it is.
fn check_header(wasm: &[u8]) -> Result<(), InspectError> {
    if wasm.is_empty() {
        return Err(InspectError::Empty);
    }
    let magic = b"\0asm";
    let Some(rest) = wasm.strip_prefix(magic) else {
        if magic.starts_with(wasm) {
            return Err(InspectError::Truncated(wasm.len() as u64));
        }
        let beginning = wasm.get(..8).unwrap_or(wasm);
        return Err(InspectError::NotWasm(format!("0x{}", hex::encode(beginning))));
    };
    let Some([v0, v1, l0, l1]) = rest.first_chunk() else {
        return Err(InspectError::Truncated(wasm.len() as u64));
    };
    match (u16::from_le_bytes([*v0, *v1]), u16::from_le_bytes([*l0, *l1])) {
        (VERSION_COMPONENT, LAYER_COMPONENT) => Ok(()),
        (VERSION_CORE, 0) => Err(InspectError::CoreModule),
        (version, layer) => Err(InspectError::UnknownKind { version, layer }),
    }
}

fn allowed(name: &str) -> bool {
    let (interface, version) = split_name(name);
    match interface.strip_prefix(PACKAGE) {
        // Versions of the package are checked elsewhere, with their own error.
        Some(interface) => OFFERED.contains(&interface),
        None => WASI.contains(&interface) && version.starts_with(WASI_VERSION),
    }
}

#[cfg(test)]
#[path = "info_tests.rs"]
mod tests;

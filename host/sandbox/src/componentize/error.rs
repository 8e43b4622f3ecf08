//! Errors of creating components.

use crate::InspectError;

/// Error while turning data into a component, or while writing its metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentizeError {
    /// The data is not WebAssembly.
    #[error("it is not WebAssembly: {0}")]
    NotWasm(String),
    /// The data exceeds the size that the sandbox compiles.
    #[error("it is too large: {size} bytes (limit: {limit})")]
    TooLarge {
        /// The size in bytes.
        size: u64,
        /// The limit of the sandbox in bytes.
        limit: u64,
    },
    /// The structure is invalid.
    #[error("it is not valid WebAssembly: {0}")]
    Broken(String),
    /// A core module without embedded types, and no world was specified.
    #[error("it is a core module without types, and its world is not set")]
    NoTypes,
    /// The module is a program and not a library.
    #[error("it is a program (it exports `_start`), not a library that can be called (`_initialize`)")]
    Program,
    /// The contract does not have this world.
    #[error("unknown world `{name}` (worlds: {})", known.join(", "))]
    World {
        /// The requested name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// The types of the contract cannot be read.
    #[error("failed to read the contract {place}: {reason}")]
    Wit {
        /// Where the contract is.
        place: String,
        /// The message of the parser.
        reason: String,
    },
    /// The module lacks functions that its world requires.
    #[error("it lacks exports that its world requires: {}; it exports {}", missing.join(", "), shown(exports))]
    Exports {
        /// The missing exports, with the names that compilers use.
        missing: Vec<String>,
        /// The actual exports.
        exports: Vec<String>,
    },
    /// The module has imports that nothing provides.
    #[error("it imports functions that modules cannot use: {}", .0.join(", "))]
    Imports(Vec<String>),
    /// The encoder rejected the module for another reason.
    #[error("failed to convert it to a component: {0}")]
    Encode(String),
    /// The metadata is invalid.
    #[error("invalid module metadata: {0}")]
    Metadata(InspectError),
}

impl ComponentizeError {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotWasm(_) => "a core module or component is a binary file `*.wasm`, not its text form",
            Self::TooLarge { .. } => "build it without debug information (`strip`, `-s -w`), and optimize it for size",
            Self::Broken(_) => "build or copy the file again",
            Self::NoTypes => "set `world` in `module.yaml`; in Rust, call `plumbline_sdk::module!`",
            Self::Program => {
                "build a library: Go: `-buildmode=c-shared`; C: `-mexec-model=reactor`; Rust: crate type `cdylib`"
            }
            Self::World { .. } => "choose one of these as `world` in `module.yaml`",
            Self::Wit { .. } => "copy `wit/` from a release of Plumbline again, or remove the directory",
            Self::Exports { .. } => "generate the bindings for the world in `module.yaml`, and implement its functions",
            Self::Imports(_) => {
                "remove these imports, or link their definitions: a module can import only `plumbline:plugin` and `wasi_snapshot_preview1`"
            }
            Self::Encode(_) => {
                "build it with the bindings of the SDK for its language, for the same version of the contract"
            }
            Self::Metadata(source) => return source.hint(),
        })
    }
}

fn shown(names: &[String]) -> String {
    const MAX: usize = 20;
    match names.len() {
        0 => "nothing".to_owned(),
        n => {
            let few: Vec<&str> = names.iter().take(MAX).map(String::as_str).collect();
            let more = if n > MAX { format!(", and {} more", n - MAX) } else { String::new() };
            format!("{}{more}", few.join(", "))
        }
    }
}

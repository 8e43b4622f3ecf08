//! Why there is no component.

use crate::InspectError;

/// Why some bytes cannot be made a component, or be told what they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentizeError {
    /// Something else than WebAssembly.
    #[error("it is not WebAssembly: {what}")]
    NotWasm {
        /// What there is instead.
        what: String,
    },
    /// More than the sandbox compiles.
    #[error("it is too large: {size} bytes (limit: {limit})")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The limit, which is the sandbox's.
        limit: u64,
    },
    /// The structure is broken.
    #[error("it is not valid WebAssembly: {reason}")]
    Broken {
        /// Where and why.
        reason: String,
    },
    /// A core module that does not say which functions it has, and nobody else does.
    #[error("it is a core module without types, and no world is named that it was built for")]
    NoTypes,
    /// A program, not a library.
    #[error("it is a program (it exports `_start`), not a library that can be called (`_initialize`)")]
    Program,
    /// No such world.
    #[error("world `{name}` is not in the contract (there: {})", known.join(", "))]
    World {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The types cannot be read.
    #[error("failed to read the contract {place}: {reason}")]
    Wit {
        /// Where it is.
        place: String,
        /// The cause, as the parser words it.
        reason: String,
    },
    /// It does not have the functions that its world asks for.
    #[error("it lacks what its world wants: {}; it exports {}", missing.join(", "), shown(exports))]
    Exports {
        /// What is missing, as compilers name it.
        missing: Vec<String>,
        /// What it exports.
        exports: Vec<String>,
    },
    /// It asks for what nobody gives.
    #[error("it imports what modules do not get: {}", imports.join(", "))]
    Imports {
        /// The modules that it imports from, with some of the names.
        imports: Vec<String>,
    },
    /// Something else about it is wrong.
    #[error("it cannot be made a component: {reason}")]
    Encode {
        /// The cause, as the encoder words it.
        reason: String,
    },
    /// What it is to say of itself cannot be said.
    #[error("what it is to say of itself cannot be used: {0}")]
    Metadata(InspectError),
}

impl ComponentizeError {
    /// What to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotWasm { .. } => "a core module or component is a binary file `*.wasm`, not its text form",
            Self::TooLarge { .. } => "build it without debug information (`strip`, `-s -w`), and optimised for size",
            Self::Broken { .. } => "build or copy the file again",
            Self::NoTypes => {
                "name the world that it was built for: `world` in `module.yaml`; Rust: call `plumbline_sdk::module!`"
            }
            Self::Program => {
                "build a library: Go: `-buildmode=c-shared`; C: `-mexec-model=reactor`; Rust: crate type `cdylib`"
            }
            Self::World { .. } => "choose one of these as `world` in `module.yaml`",
            Self::Wit { .. } => {
                "take the files of `wit/` from a release of plumbline again, or leave the directory out"
            }
            Self::Exports { .. } => {
                "generate the bindings for the world that `module.yaml` names, and implement its functions"
            }
            Self::Imports { .. } => {
                "a module may import the interfaces of `plumbline:plugin` and `wasi_snapshot_preview1`, nothing else: leave the functions out, or link what defines them"
            }
            Self::Encode { .. } => {
                "build it with the bindings of the SDK for its language, for the same version of the contract"
            }
            Self::Metadata(source) => return source.hint(),
        })
    }
}

/// Some names of a list that may be long.
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

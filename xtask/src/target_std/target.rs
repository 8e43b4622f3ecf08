//! The targets that a standard library is needed for.

use std::path::{Path, PathBuf};

/// A target of the compiler other than this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    /// The crates to build from the source of the standard library.
    pub(super) crates: &'static str,
    /// The directory in the cache that keeps what is built.
    pub(super) store: &'static str,
    /// The kind of crate that proves that the library is usable.
    pub(super) crate_type: &'static str,
    /// The first bytes of what the compiler produces.
    pub(super) magic: &'static [u8],
    /// The linker, if the compiler has none for this target.
    pub(super) linker: Option<&'static str>,
}

impl Target {
    /// The target of modules.
    pub(crate) const MODULE: Self = Self {
        triple: "wasm32-unknown-unknown",
        crates: "std,panic_abort",
        store: "wasm-std",
        crate_type: "cdylib",
        magic: b"\0asm",
        linker: None,
    };

    /// Returns the target of programs for another machine with Linux.
    pub(crate) const fn linux(triple: &'static str, linker: &'static str) -> Self {
        Self {
            triple,
            crates: "std,panic_unwind",
            store: "linux-std",
            crate_type: "bin",
            magic: b"\x7fELF",
            linker: Some(linker),
        }
    }

    /// Returns the directory of this target's libraries in a sysroot.
    pub(super) fn libraries(self, sysroot: &Path) -> PathBuf {
        sysroot.join("lib/rustlib").join(self.triple).join("lib")
    }

    /// Returns the variable with which cargo passes flags only to this target.
    pub(super) fn flags_variable(self) -> String {
        format!("CARGO_TARGET_{}_RUSTFLAGS", self.triple.to_ascii_uppercase().replace('-', "_"))
    }
}

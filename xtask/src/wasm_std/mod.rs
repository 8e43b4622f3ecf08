//! The standard library for `wasm32-unknown-unknown`, which is found or built.
//!
//! The ways, in order:
//!
//! 1. It is installed in the toolchain, or kept from an earlier build.
//! 2. rustup adds it.
//! 3. It is built from Debian's source package of the same Rust version.
//! 4. Debian's packaged Rust is used, with a standard library built from its own source.

mod build;
mod debian_rust;
mod debian_source;
mod find;
mod rustc;
mod rustup;
mod smoke;
mod store;
mod way;

pub(crate) use find::{WasmStd, ensure};
pub(crate) use rustc::TARGET;
pub(crate) use way::Attempt;

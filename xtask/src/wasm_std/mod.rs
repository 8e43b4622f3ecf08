//! The standard library for `wasm32-unknown-unknown`, found or made.
//!
//! In this order: installed in the toolchain; built earlier and kept; added by rustup; built from Debian's source package of the
//! same Rust version; Debian's packaged Rust with a standard library built from its own source.

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

//! The standard library for a target, which is found or built: for modules, and for programs of
//! another machine.
//!
//! The ways, in order:
//!
//! 1. It is installed in the toolchain, or kept from an earlier build.
//! 2. rustup adds it.
//! 3. It is built from Debian's source package of the same Rust version.
//! 4. For modules only, Debian's packaged Rust is used, with a standard library built from its own
//!    source.

mod build;
mod debian_rust;
mod debian_source;
mod find;
mod rustc;
mod rustup;
mod smoke;
mod store;
mod target;
mod way;

pub(crate) use find::{TargetStd, ensure};
pub(crate) use target::Target;
pub(crate) use way::Attempt;

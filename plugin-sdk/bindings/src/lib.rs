//! Generates files from the WIT of the contract: the bindings of the SDKs, and documentation pages.
//! The generated files are committed, so that nobody needs this crate to read or use them. A test
//! reports outdated ones, and `cargo xtask bindings` writes them again.
//!
//! The crate also compares two versions of the contract ([`differences`]): everything in a frozen
//! version must stay the same in later ones.
#![forbid(unsafe_code)]

mod c;
mod compatible;
mod contract;
mod error;
mod excerpts;
mod go;
mod page;
mod registry;
mod shape;
mod tree;
mod worlds;

pub use compatible::differences;
pub use contract::Contract;
pub use error::BindingsError;
pub use excerpts::excerpts;
pub use registry::{Files, WIT_DIR, generate};
pub use tree::{check, write};

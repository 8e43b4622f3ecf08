//! Generates from the WIT what is written down for people and other languages: bindings of the SDKs, and the pages of the contract.
//! What is generated is committed, so that nobody needs this crate to read or to use it; a test says when it no longer is what the
//! source makes. `cargo xtask bindings` writes it anew.
//!
//! It also compares two generations of the contract ([`differences`]): what is frozen must stay as it is in all that follow.
#![forbid(unsafe_code)]

mod c;
mod compatible;
mod contract;
mod definition;
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

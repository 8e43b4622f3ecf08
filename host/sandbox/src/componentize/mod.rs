//! Turns core WebAssembly modules into components: those with embedded types of the contract, and
//! those for WASI preview 1 by means of an adapter. Also writes the metadata of a component (the
//! section `plumbline:module`).
//!
//! ```no_run
//! use plumbline_sandbox::componentize::{Metadata, component, set_metadata};
//!
//! # fn demo(core: &[u8]) -> Result<(), plumbline_sandbox::componentize::ComponentizeError> {
//! let made = component(core, Some("post-processor-module"), None)?;
//! let metadata = Metadata { name: "tap".into(), formats: vec!["tap".into()], ..Metadata::default() };
//! let module = set_metadata(&made, &metadata)?;
//! # Ok(())
//! # }
//! ```

mod component;
mod contract;
mod error;
mod metadata;

pub use component::component;
pub use contract::{CONTRACT, DEFAULT_WORLD, worlds};
pub use error::ComponentizeError;
pub use metadata::{Metadata, set_metadata};

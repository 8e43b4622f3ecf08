//! Container images: reads them from a registry or layout, adds a layer, and writes the result
//! elsewhere.
//!
//! Existing layers stay unchanged. Configuration and manifest are new.

mod append;
mod file;
mod layer;
mod read;
mod write;

pub use append::NewLayer;
pub use layer::{Layer, LayerBuilder};
pub use read::{Image, Platform};
pub use write::{ImageName, list_image};

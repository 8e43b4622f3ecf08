//! Container images: read from wherever they are, extended by a layer, written to wherever they are wanted. What was there stays byte for
//! byte; configuration and manifest are new ones that name it.

mod append;
mod file;
mod layer;
mod read;
mod write;

pub use append::Addition;
pub use layer::{Layer, LayerBuilder};
pub use read::{Image, Platform};
pub use write::{ImageName, list_image};

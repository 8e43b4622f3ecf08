//! What the program brings along: the built-in modules, ready compiled, and the built-in plugin definitions.
#![forbid(unsafe_code)]

mod definitions;
mod modules;

pub use definitions::{Place, StockDefinition, definition, definitions};
pub use modules::{Embedded, StockError, accept, embedded, load};

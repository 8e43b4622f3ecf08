//! What the program brings along: the stock modules, ready compiled, and the stock plugin definitions.
#![forbid(unsafe_code)]

mod definitions;
mod modules;

pub use definitions::{Place, StockDefinition, definition, definitions};
pub use modules::{Embedded, StockError, accept, embedded, load};

//! What the program brings along: the built-in modules, ready compiled, and the built-in plugin definitions.

mod definitions;
mod modules;

pub use definitions::{BuiltInDefinition, Place, definition, definitions};
pub use modules::{BuiltInError, Embedded, accept, embedded, load};

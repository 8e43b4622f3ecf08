//! Built-in modules, compiled ahead of time, and built-in plugin definitions.

mod definitions;
mod modules;

pub use definitions::{BuiltInDefinition, Environment, definition, definitions};
pub use modules::{BuiltInError, Embedded, accept, embedded, load};

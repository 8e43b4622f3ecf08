//! The settings for turning a core module into a component.

use std::path::Path;

/// The source of the contract's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wit<'a> {
    /// The copy embedded in this program.
    #[default]
    Embedded,
    /// A directory of WIT files, such as a project's own `wit/`.
    Directory(&'a Path),
}

/// The settings for turning a core module into a component. A component, and a core module with
/// embedded types, need none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recipe<'a> {
    /// The world of a core module without embedded types, such as
    /// [`DEFAULT_WORLD`](crate::componentize::DEFAULT_WORLD). With `None`, such a
    /// module is rejected.
    pub world: Option<&'a str>,
    /// The source of this world.
    pub wit: Wit<'a>,
}

impl<'a> Recipe<'a> {
    /// Selects a world of the embedded contract.
    #[must_use]
    pub fn world(name: &'a str) -> Self {
        Self { world: Some(name), wit: Wit::Embedded }
    }
}

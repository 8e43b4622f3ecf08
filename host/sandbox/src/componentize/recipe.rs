//! What a core module is to become.

use std::path::Path;

/// Where the types of the contract come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wit<'a> {
    /// The copy inside this program.
    #[default]
    Embedded,
    /// A directory of WIT files, such as a project's own `wit/`.
    Directory(&'a Path),
}

/// How a component is made of a core module. A component, and a core module that carries its types, need nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recipe<'a> {
    /// The world that a core module without types was built for, such as [`DEFAULT_WORLD`](plumbline_sandbox::componentize::DEFAULT_WORLD). `None`: such a core
    /// module is refused.
    pub world: Option<&'a str>,
    /// Where that world is described.
    pub wit: Wit<'a>,
}

impl<'a> Recipe<'a> {
    /// The world of that name in the contract inside this program.
    #[must_use]
    pub fn world(name: &'a str) -> Self {
        Self { world: Some(name), wit: Wit::Embedded }
    }
}

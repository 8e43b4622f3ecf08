//! `-o` of commands that print what they found.

use clap::ValueEnum;

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// For people
    Text,
    /// JSON, with the keys of docs/bundles.md
    Json,
}

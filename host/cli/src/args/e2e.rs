//! `plumbline e2e`

/// List the tests of the suite, and what a focus selects of them.
#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {}

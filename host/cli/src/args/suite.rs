//! What the suite is told: options of `run`, `gen` and `conformance run`.

/// Under which heading these options stand.
const HEADING: &str = "Options of the plugin e2e";

/// What the suite is told.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct SuiteArgs {}

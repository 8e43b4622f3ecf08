//! What becomes of failures: options of `run`, `gen`, `conformance run` and `results`.

/// Under which heading these options stand.
const HEADING: &str = "From results to a verdict";

/// What becomes of failures.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct JudgeArgs {}

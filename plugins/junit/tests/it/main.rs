//! Tests of the module, run natively on files as its author does.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bounds;
mod broken;
mod classes;
mod common;
mod dialects;
mod dry_runs;
mod durations;
mod encodings;
mod golden;
mod options;
mod properties;
mod setup_nodes;
mod silent;
mod texts;

//! Tests for the ledger, event by event.

mod failures;
mod journal;
mod plan;
mod progress;
mod skipped;
mod status;
mod totals;
mod uploads;
mod words;

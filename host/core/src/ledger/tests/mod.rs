//! Tests for the ledger, event by event.

mod failures;
mod journal;
mod plan;
mod progress;
mod status;
mod uploads;
mod withdraw;
mod words;

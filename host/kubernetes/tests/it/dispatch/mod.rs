//! Tests of the drivers and the dispatcher.

pub(super) mod bed;
mod checks;
mod cleanup;
mod launch;
mod nodes;
mod objects;
mod rules;
pub(super) mod samples;

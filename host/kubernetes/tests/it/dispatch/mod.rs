//! Tests of the drivers and the dispatcher.

pub(super) mod bed;
mod cleanup;
mod launch;
mod nodes;
mod objects;
mod rules;
pub(super) mod samples;

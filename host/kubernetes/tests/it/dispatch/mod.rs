//! Drivers and the dispatcher.

mod bed;
mod cleanup;
mod launch;
mod nodes;
mod objects;
mod rules;
mod samples;

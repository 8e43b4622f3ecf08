//! Drivers and the dispatcher.

mod objects;
mod rules;
mod samples;

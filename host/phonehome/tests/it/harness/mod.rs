//! Shared test helpers.

mod go_program;
mod run;
mod serve;
mod tools;

pub(crate) use plumbline_core::chain;

pub(crate) use go_program::GoProgram;
pub(crate) use run::{Run, key, no_patience, quick, unhurried};
pub(crate) use serve::{Served, Stream, answer, read_head, read_until_end, serve, serve_raw, serve_tcp};
pub(crate) use tools::{command, has, output, skipped};

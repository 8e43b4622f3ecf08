//! A minimal WASI for language runtimes that cannot start without it.
//!
//! There are no arguments, environment variables or directories. Clocks and random numbers work.
//! Standard output and standard error go to the size-limited log of the call.

mod link;
mod state;
mod stdio;
mod timers;
mod view;

pub(crate) use link::add_to_linker;
pub(crate) use state::WasiState;

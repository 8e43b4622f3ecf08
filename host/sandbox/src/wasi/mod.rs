//! WASI for language runtimes that cannot start without it: there, and empty. No arguments, no environment, no directories; clocks and
//! random numbers; standard output and standard error go, bounded, to the log of the call.

mod link;
mod state;
mod stdio;
mod timers;
mod view;

pub(crate) use link::add_to_linker;
pub(crate) use state::WasiState;

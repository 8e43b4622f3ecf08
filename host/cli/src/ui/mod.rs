//! Progress display of a run: messages on stderr, and a live view on a terminal.

mod display;
mod events;
mod follow;
mod line;
mod live;
mod plugins;
mod rate;
mod screen;
mod transfer;

use std::io::{self, IsTerminal};

pub(crate) use display::Watch;
pub(crate) use follow::{Ended, follow};
#[cfg(test)]
pub(crate) use screen::log_event;
pub(crate) use screen::{be_quiet, log_writer, say};
pub(crate) use transfer::Transfer;

use crate::args::shared::WaitOutput;

/// Whether the view shows how much time remains.
pub(crate) fn has_estimates(output: WaitOutput) -> bool {
    output == WaitOutput::Progress && redraws()
}

/// Whether stderr is redrawn in place. The log of a CI job and the output of `dumb` terminals are
/// kept, so they are not redrawn.
fn redraws() -> bool {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")));
    io::stderr().is_terminal() && !is_ci && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

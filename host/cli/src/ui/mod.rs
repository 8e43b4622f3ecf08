//! Progress display of a run: messages on stderr, and a live view on a terminal.

mod display;
mod events;
mod follow;
mod line;
mod live;
mod missing;
mod plugins;
mod rate;
mod screen;
mod skipped;
mod stalled;
mod transfer;
mod watch;

use std::io::{self, IsTerminal};

pub(crate) use follow::{Ended, follow};
pub(crate) use missing::missing;
pub(crate) use plugins::{period, progress};
pub(crate) use screen::{log_writer, say};
pub(crate) use skipped::skipped;
pub(crate) use stalled::{logs_command, stalled};
pub(crate) use transfer::Transfer;
pub(crate) use watch::Watch;

/// Whether stderr is redrawn in place. The log of a CI job and the output of `dumb` terminals are
/// kept, so they are not redrawn.
fn redraws() -> bool {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")));
    io::stderr().is_terminal() && !is_ci && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

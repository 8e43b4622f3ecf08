//! `plumbline status`

mod cluster;
mod document;
mod local;
mod local_list;
mod sentence;
mod table;
mod trouble;

use std::io::{self, Write};
use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_core::RunStatus;

use crate::args::{Global, StatusArgs};
use crate::error::CliError;
use crate::logging;
use crate::output::print_json_line;
use crate::ui::period;

pub(super) use cluster::{code_of_run, connect, print_end, runtime};
pub(super) use trouble::{explain, told};

/// Shows how a run goes: in a cluster, or of this user on this machine.
pub(crate) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, CliError> {
    logging::init(global);
    if args.local { local::status(args, global) } else { cluster::status(args, global) }
}

/// The status as the aggregator tells it, but for what only this program's views need.
fn one_line_of_json(status: &RunStatus, out: &mut impl Write) -> io::Result<()> {
    let mut status = status.clone();
    status.launched.clear();
    print_json_line(&status, out)
}

/// How long ago `at` was.
fn ago(at: Timestamp) -> String {
    format!("{} ago", period(Timestamp::now().duration_since(at)))
}

//! `plumbline aggregator`

use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::aggregator::{AggregatorEnd, AggregatorOptions, aggregate};
use plumbline_app::runtime::runtime;

use crate::args::{AggregatorArgs, Global, Level, RegistryArgs};
use crate::context::context;
use crate::error::SYSTEM;
use crate::logging;

/// The exit code after SIGTERM: 128 and the number of the signal, as shells report it.
const TERMINATED: u8 = 143;

/// Runs the aggregator of a cluster.
pub(crate) fn aggregator(args: &AggregatorArgs, global: &Global) -> Result<ExitCode, AppError> {
    // Users need the log to find out what went wrong, so it has more than warnings by default.
    let level = if global.level == Level::Warn { Level::Info } else { global.level };
    let global = Global { level, ..global.clone() };
    let options = AggregatorOptions {
        no_exit: args.no_exit,
        dir: args.dir.clone(),
        kubeconfig: args.kubeconfig.clone(),
        baked: args.baked.clone(),
        limits: args.limits.file.clone(),
        start_log: &|path: &Path| logging::init_run(&global, path),
    };
    let context = context(&RegistryArgs::default());
    Ok(match runtime()?.block_on(Box::pin(aggregate(&context, &options)))? {
        AggregatorEnd::Finished => ExitCode::SUCCESS,
        AggregatorEnd::Failed => ExitCode::from(SYSTEM),
        AggregatorEnd::Left => ExitCode::from(TERMINATED),
    })
}

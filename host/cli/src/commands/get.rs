//! `plumbline get`

use std::io::{self, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_kubernetes::plugin_pods;

use super::remote::{connect, fail_cluster};
use crate::args::{GetPodArgs, Global};
use crate::logging;

/// Prints the names of the pods of plugins, one per line.
pub(crate) fn pod(args: &GetPodArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let found = runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await?;
        plugin_pods(&cluster, &args.cluster.namespace, args.plugin.as_ref().map(AsRef::as_ref)).await
    });
    let names = match found {
        Ok(names) => names,
        Err(error) => return Ok(fail_cluster(&error, global)),
    };
    let mut out = io::stdout().lock();
    let printed = names.iter().try_for_each(|name| writeln!(out, "{name}"));
    printed.map_err(|error| AppError::printing("failed to print the names of pods", &error))?;
    Ok(ExitCode::SUCCESS)
}

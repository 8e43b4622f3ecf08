//! `plumbline plugin process`

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::{ProcessOptions, process as process_results};
use plumbline_app::report::print_json;
use plumbline_app::trees::read_tree;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Verdict};

use crate::args::{ExitCodes, Global, ProcessArgs, RegistryArgs, RunFormat};
use crate::context::context;
use crate::error::verdict_code;
use crate::logging;

/// Post-processes a directory and prints the tree. The directory is not changed.
pub(crate) fn process(args: &ProcessArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let options = ProcessOptions {
        dir: args.dir.clone(),
        definition: args.definition.clone(),
        name: args.name.clone(),
        driver: args.driver,
        result_format: args.result_format.clone(),
        result_files: args.result_files.clone(),
        module: args.module.clone(),
        limits: args.limits.file.clone(),
    };
    let processed = process_results(&context(&RegistryArgs::default()), &options)?;
    let outcome = processed.outcome;
    print(&processed.tree, args.format)
        .map_err(|error| AppError::printing("failed to print the result tree", &error))?;
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict => {
            let entry = PluginStatus {
                plugin: processed.plugin.to_string(),
                node: GLOBAL.to_owned(),
                status: EntryStatus::Complete,
                result_status: Some(outcome.total.status),
                result_counts: Some(outcome.total.counts),
                ..PluginStatus::default()
            };
            let status = RunStatus { plugins: Some(vec![entry]), status: RunPhase::Complete, ..RunStatus::default() };
            verdict_code(Verdict::from_run(&status))
        }
    })
}

fn print(tree: &Path, format: RunFormat) -> io::Result<()> {
    let file = File::open(tree)?;
    let mut out = io::stdout().lock();
    match format {
        RunFormat::Yaml => io::copy(&mut BufReader::new(file), &mut out).map(|_| ()),
        RunFormat::Json => print_json(&read_tree(file)?, &mut out),
    }
}

//! `plumbline results diff`

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::{diff_markdown, diff_text, print_json};
use plumbline_app::results::{CompareOptions, Comparison, compare};
use plumbline_core::{Verdict, shell_path, shell_quote};

use crate::args::{DiffArgs, DiffFormat, ExitCodes, Global, RegistryArgs};
use crate::context::context;
use crate::error::FAILED;
use crate::ui::say;

/// Compares two runs. Exits with 1 if a test fails only in the later one, with 5 if no test of a plugin ran
/// there, and otherwise with 0.
pub(super) fn diff(args: &DiffArgs, global: &Global) -> Result<ExitCode, AppError> {
    let options = CompareOptions {
        before: args.before.clone(),
        after: args.after.clone(),
        plugin: args.plugin.clone(),
        limits: args.limits.file.clone(),
    };
    let Comparison { difference: found, silent } = compare(&context(&RegistryArgs::default()), &options)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = match args.format {
        DiffFormat::Text => diff_text(&found, &mut out),
        DiffFormat::Json => print_json(&found, &mut out),
        DiffFormat::Markdown => diff_markdown(&found, &mut out),
    };
    printed
        .and_then(|()| out.flush())
        .map_err(|error| AppError::printing("failed to print the differences", &error))?;
    // Without a test that ran, there is no new failure, and nothing passed either.
    for plugin in &silent {
        say(&format!(
            "warning: no test of plugin `{plugin}` is known to have run in `{}`: `plumbline results {} --plugin {}` shows what is in it",
            args.after.display(),
            shell_path(&args.after),
            shell_quote(plugin)
        ));
    }
    Ok(match global.exit_code {
        ExitCodes::Strict if !found.new_failures.is_empty() => ExitCode::from(FAILED),
        ExitCodes::Strict if !silent.is_empty() => ExitCode::from(Verdict::NothingToJudge.exit_code()),
        _ => ExitCode::SUCCESS,
    })
}

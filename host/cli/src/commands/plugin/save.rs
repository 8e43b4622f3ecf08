//! `plumbline plugin save`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::save as save_artifacts;

use crate::args::{Global, SaveArgs};
use crate::context::context;
use crate::logging;

/// Copies artifacts with their referrers into a layout.
pub(crate) fn save(args: &SaveArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let size = save_artifacts(
        &context(&args.registry),
        &args.references,
        &args.output,
        &mut |reference, digest, referrers| {
            let signed = match referrers {
                0 => String::new(),
                1 => ", with 1 that belongs to it".to_owned(),
                count => format!(", with {count} that belong to it"),
            };
            print(&format!("saved: {reference} is {digest}{signed}"))
        },
    )?;
    let size = size.map(|size| format!(" ({size})")).unwrap_or_default();
    print(&format!("written: {}{size}", args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a line at once, so that it is shown even if the next artifact fails.
fn print(line: &str) -> Result<(), AppError> {
    writeln!(anstream::stdout().lock(), "{line}")
        .map_err(|error| AppError::printing("what was saved cannot be printed", &error))
}

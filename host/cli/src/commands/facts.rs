//! `plumbline worker facts`

use std::io::Write;
use std::process::ExitCode;

use crate::args::FactsArgs;
use crate::error::CliError;

/// Gathers facts of this machine and prints them as JSON. What cannot be read is listed among them: gathering itself does not fail.
pub(crate) fn facts(args: &FactsArgs) -> Result<ExitCode, CliError> {
    let facts = plumbline_worker::facts::gather(&args.root);
    let mut json = serde_json::to_vec_pretty(&facts)
        .map_err(|error| CliError::system("the facts cannot be written as JSON").because(&error))?;
    json.push(b'\n');
    let output = args.output.as_deref().map(|path| args.done.place(path));
    let (written, place) = match &output {
        Some(path) => (std::fs::write(path, json), format!("into `{}`", path.display())),
        None => (std::io::stdout().write_all(&json), "on standard output".to_owned()),
    };
    written.map_err(|error| CliError::printing(format!("the facts cannot be written {place}"), &error))?;
    args.done.finish(output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

//! `plumbline worker facts`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_facts::{Document, Options, gather, gather_via_ansible};

use super::in_root;
use crate::args::{FactsArgs, Via};

/// Default name of the file in the results directory.
const FILE: &str = "host-facts.json";

/// Gathers facts about this machine and prints them as JSON. Facts that cannot be read are listed
/// in the document, and are not an error.
pub(crate) fn facts(args: &FactsArgs) -> Result<ExitCode, AppError> {
    let ending = args.done.prepare()?;
    let document = document(args)?;
    let output = args.output.as_deref().or(args.done.done.then_some(Path::new(FILE)));
    let output = output.map(|path| args.done.place(path));
    match &output {
        Some(path) => document.write_to(path).map_err(|error| {
            AppError::system(format!("failed to write the facts into `{}`", path.display())).because(&error)
        })?,
        None => std::io::stdout()
            .write_all(document.to_json().as_bytes())
            .map_err(|error| AppError::printing("failed to write the facts on standard output".to_owned(), &error))?,
    }
    // The process may stay for hours, and does not need the document.
    drop(document);
    ending.finish(output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

fn document(args: &FactsArgs) -> Result<Document, AppError> {
    let options = Options {
        facts_dir: args.facts_dir.clone(),
        run_collectors: args.run_collectors,
        run_programs: args.run_programs,
        helper: in_root::helper(),
        ..Options::new(&args.root)
    };
    match args.via {
        Via::Native => Ok(gather(&options)),
        Via::Ansible => gather_via_ansible(&options).map_err(|error| {
            AppError::system("Ansible gave no facts")
                .because(&error)
                .hint("leave out `--via ansible`: the facts are then gathered without Ansible")
        }),
    }
}

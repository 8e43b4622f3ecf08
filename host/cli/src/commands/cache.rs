//! `plumbline cache`

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::cache::{CacheContents, clean, contents, selected};
use plumbline_app::report::text::{name, size};
use serde_json::json;

use crate::args::shared::OutputArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List cached files, with sizes
    List(OutputArgs),
    /// Remove cached files; commands create them again when needed
    Clean {
        /// Parts to remove: `bundles`, `downloads`, `history`, `modules` or `programs` [default:
        /// all]
        #[arg(value_name = "PART")]
        parts: Vec<String>,
        /// Print what would be removed, and exit
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
}

pub(crate) fn cache(command: &CacheCommand) -> Result<ExitCode, AppError> {
    match command {
        CacheCommand::List(output) => print_contents(&contents()?, "", *output),
        CacheCommand::Clean { parts, dry_run: true, output } => {
            print_contents(&selected(contents()?, parts)?, "would remove ", *output)
        }
        CacheCommand::Clean { parts, output, .. } => print_contents(&clean(parts)?, "removed ", *output),
    }
}

/// Prints the content. Keys of the document are never removed or renamed (docs/output.md).
fn print_contents(contents: &CacheContents, verb: &str, output: OutputArgs) -> Result<ExitCode, AppError> {
    let data =
        json!({"path": contents.path.display().to_string(), "parts": contents.sections, "bytes": contents.bytes()});
    output.print("failed to print the content of the cache", &data, |out| print_text(contents, verb, out))
}

fn print_text(contents: &CacheContents, verb: &str, out: &mut impl Write) -> io::Result<()> {
    for section in &contents.sections {
        let files = if section.files == 1 { "file" } else { "files" };
        writeln!(
            out,
            "{verb}{:10} {:>10}   {:>6} {files}   {}",
            name(&section.name),
            size(section.bytes),
            section.files,
            section.description
        )?;
    }
    writeln!(out, "{}: {}", contents.path.display(), size(contents.bytes()))
}

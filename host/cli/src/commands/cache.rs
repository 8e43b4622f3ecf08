//! `plumbline cache`

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::cache::{CacheContents, clean, contents, selected};
use plumbline_app::report::print_json;
use plumbline_app::report::text::{name, size};
use serde_json::json;

use crate::args::shared::{DataFormat, OutputArgs};
use crate::output::print;

#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List cached files, with sizes
    List(CacheListArgs),
    /// Remove cached files; commands create them again when needed
    Clean(CacheCleanArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CacheListArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CacheCleanArgs {
    /// Parts to remove: `bundles`, `downloads`, `history`, `modules` or `programs` [default: all]
    #[arg(value_name = "PART")]
    pub(crate) parts: Vec<String>,
    /// Print what would be removed, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn cache(args: &CacheArgs) -> Result<ExitCode, AppError> {
    match &args.command {
        CacheCommand::List(args) => print_contents(&contents()?, "", args.output),
        CacheCommand::Clean(args) if args.dry_run => {
            print_contents(&selected(contents()?, &args.parts)?, "would remove ", args.output)
        }
        CacheCommand::Clean(args) => print_contents(&clean(&args.parts)?, "removed ", args.output),
    }
}

/// Prints the content. Keys of the document are never removed or renamed (docs/output.md).
fn print_contents(contents: &CacheContents, verb: &str, output: OutputArgs) -> Result<ExitCode, AppError> {
    print("failed to print the content of the cache", |out| match output.format() {
        DataFormat::Json => {
            let CacheContents { path, sections } = contents;
            print_json(&json!({"path": path, "parts": sections, "bytes": contents.bytes()}), out)
        }
        DataFormat::Text => print_text(contents, verb, out),
    })
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

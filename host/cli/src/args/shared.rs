//! Options that several commands share, and the context of use cases.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
pub(crate) use plumbline_app::options::{DAY, RegistryArgs, RunFormat, WaitOutput, limit};
use plumbline_app::report::print_json;
use plumbline_app::{AppError, Context, Reporter};
use plumbline_core::text::Printable;
use serde::Serialize;
use serde_json::Value;

use crate::error::PrintError as _;
use crate::output::{Out, print};
use crate::ui::say;

/// Prints messages of use cases to stderr.
struct Stderr;

impl Reporter for Stderr {
    fn error(&self, error: &AppError) {
        error.print();
    }

    fn warning(&self, text: &str) {
        say(&format!("warning: {text}"));
    }

    fn hint(&self, text: &str) {
        say(&format!("hint:    {text}"));
    }

    fn note(&self, text: &str) {
        say(&format!("note: {text}"));
    }

    fn progress(&self, text: &str) {
        say(text);
    }
}

/// Returns the context of a command with these options.
pub(crate) fn context(registry: &RegistryArgs) -> Context {
    Context { registries: registry.settings(), reporter: Arc::new(Stderr) }
}

/// The exit codes of commands that give a verdict, for `--help`. docs/exit-codes.md explains them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    complete, and passed
  1    complete, and something failed
  2    the command line or an input file is invalid
  3    incomplete: a timeout, or results are missing or unknown
  4    the system failed: the cluster, a permission or the disk
  5    nothing to judge: no results, or only unknown or skipped ones
  130  interrupted";

pub(crate) fn insert(document: &mut Value, key: &str, value: Value) {
    if let Some(fields) = document.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// The option `-o` of commands that print text or one JSON document.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print the result in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    format: DataFormat,
    /// Same as `-o json`
    #[arg(long, hide = true, conflicts_with = "format")]
    json: bool,
}

impl OutputArgs {
    pub(crate) fn is_json(self) -> bool {
        self.json || self.format == DataFormat::Json
    }

    /// Fails if a document is requested although the command writes a file to standard output.
    pub(crate) fn not_after_file(self) -> Result<(), AppError> {
        if !self.is_json() {
            return Ok(());
        }
        Err(AppError::usage("`-o json` and `--file -` both print on standard output").hint("add `--file FILE`"))
    }

    /// Prints a result on standard output: as `text`, or `data` as one JSON document. `failed` is the
    /// summary of the error if that fails.
    pub(crate) fn print(
        self,
        failed: &str,
        data: &impl Serialize,
        text: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<ExitCode, AppError> {
        print(failed, |out| if self.is_json() { print_json(data, out) } else { text(out) })
    }

    /// Prints a result on standard output, as lines of text or as one JSON document.
    pub(crate) fn print_result(
        self,
        lines: impl IntoIterator<Item = String>,
        data: &Value,
    ) -> Result<ExitCode, AppError> {
        self.print("failed to print the result", data, |out| {
            lines.into_iter().try_for_each(|line| writeln!(out, "{}", Printable::from(line)))
        })
    }
}

/// The options of commands that print a result and reach registries.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RemoteArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Output formats with a text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON document
    Json,
}

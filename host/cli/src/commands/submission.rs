//! `plumbline conformance submission`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use plumbline_app::report::print_json;
use plumbline_app::report::text::{name as printable_name, size};
use plumbline_app::submission::{AssembleOptions, Folder, RequiredFrom, Submission, required};
use plumbline_app::{AppError, submission as app};
use plumbline_conformance::submission::{self, Contents, Finding, Outcome, Summary};
use plumbline_core::shell_path;
use serde_json::json;

use crate::args::Global;
use crate::args::shared::{DataFormat, RegistryArgs, context};
use crate::error::{FAILED, INCOMPLETE};
use crate::output::print;

#[derive(Debug, clap::Args)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) command: SubmissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Write the folder of a submission, `vX.Y/PRODUCT` with four files, from the archive of a run
    Assemble(SubmissionAssembleArgs),
    /// Check the folder of a submission against the rules of its verifier
    Check(SubmissionCheckArgs),
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionAssembleArgs {
    #[command(flatten)]
    pub(crate) options: AssembleOptions,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionCheckArgs {
    /// The folder `vX.Y/PRODUCT`, or one that contains it
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print the findings in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    /// Required tests: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image
    /// [default: the built-in list of the version]
    #[arg(long, value_name = "FILE|image[:REF]")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

pub(crate) fn submission(args: &SubmissionArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        SubmissionCommand::Assemble(args) => assemble(args).map(|_| ExitCode::SUCCESS),
        SubmissionCommand::Check(args) => check(args, global),
    }
}

/// Assembles a submission, prints what was written, and returns the folder.
pub(crate) fn assemble(args: &SubmissionAssembleArgs) -> Result<PathBuf, AppError> {
    let submission = app::assemble(&context(&args.registry), &args.options)?;
    let Submission { written, place, kubernetes, cases } = &submission;
    print("what was written cannot be told", |out| {
        writeln!(out, "submission: {}", written.folder.display())?;
        writeln!(out, "Kubernetes: {kubernetes}")?;
        if cases.problem.is_none() {
            writeln!(out, "tests:      {} ran, {} skipped", cases.ran(), cases.skipped())?;
        }
        for (name, bytes) in &written.files {
            writeln!(out, "  {name:14} {}", size(*bytes))?;
        }
        writeln!(out, "title:      {}", place.title())?;
        writeln!(out, "next:       plumbline conformance submission check {}", shell_path(&written.folder))
    })?;
    Ok(submission.written.folder)
}

/// Checks the folder and prints the findings. Exits with 0 if no rule is broken, 1 if one is, and 3 if the
/// required tests are not known.
pub(crate) fn check(args: &SubmissionCheckArgs, global: &Global) -> Result<ExitCode, AppError> {
    let context = context(&args.registry);
    let folder = Folder::read(&args.dir)?;
    let mut contents = Contents {
        files: &folder.files,
        product: folder.product.as_deref(),
        log: &folder.log,
        cases: folder.cases.as_ref(),
        required: None,
    };
    let release = contents.release();
    let required = match release {
        Some(release) => required(&context, args.required.as_ref(), release, folder.log.suite.as_deref())?,
        None => None,
    };
    contents.required = required.as_ref();
    let findings = submission::check(&contents);
    let summary = Summary::of(&findings);
    print("failed to print the findings", |out| match args.format {
        DataFormat::Text => print_findings(&findings, summary, out),
        // Keys are never removed or renamed (docs/submission.md).
        DataFormat::Json => print_json(
            &json!({
                "folder": args.dir,
                "release": release.map(|release| release.to_string()),
                "findings": findings,
                "summary": summary,
            }),
            out,
        ),
    })?;
    Ok(global.code(match summary {
        Summary { failed: 1.., .. } => ExitCode::from(FAILED),
        Summary { incomplete: true, .. } => ExitCode::from(INCOMPLETE),
        _ => ExitCode::SUCCESS,
    }))
}

/// Maximum names of a finding in the text.
const MAX_NAMES: usize = 20;

/// Prints a line for each rule, with a hint below rules that are broken.
fn print_findings(findings: &[Finding], summary: Summary, out: &mut impl Write) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.rule.len()).max().unwrap_or_default();
    for finding in findings {
        let style = style(finding.outcome);
        writeln!(
            out,
            "{style}{:11}{style:#}  {:width$}  {}",
            finding.outcome,
            finding.rule,
            printable_name(&finding.what)
        )?;
        if finding.outcome == Outcome::Passed {
            continue;
        }
        for name in finding.names.iter().take(MAX_NAMES) {
            writeln!(out, "{:15}- {}", "", printable_name(name))?;
        }
        if finding.names.len() > MAX_NAMES {
            writeln!(out, "{:15}- and {} more: `-o json` has all", "", finding.names.len() - MAX_NAMES)?;
        }
        if let Some(hint) = &finding.hint {
            writeln!(out, "{:13}hint: {}", "", printable_name(hint))?;
        }
    }
    let Summary { passed, failed, not_checked, .. } = summary;
    writeln!(out, "\n{passed} rules kept, {failed} broken, {not_checked} not checked here")
}

fn style(outcome: Outcome) -> Style {
    let colour = match outcome {
        Outcome::Passed => AnsiColor::Green,
        Outcome::Failed => AnsiColor::Red,
        Outcome::NotChecked => AnsiColor::Yellow,
    };
    Style::new().fg_color(Some(colour.into()))
}

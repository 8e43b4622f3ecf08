//! `plumbline conformance submission`

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use plumbline_app::report::print_json;
use plumbline_app::report::text::{name as printable_name, size};
use plumbline_app::submission::{AssembleOptions, Folder, RequiredFrom, Submission, required};
use plumbline_app::{AppError, Context, submission as app};
use plumbline_conformance::submission::{self, Contents, Finding, Outcome, Summary};
use plumbline_core::shell_path;
use serde_json::{Value, json};

use crate::args::Global;
use crate::args::shared::{DataFormat, OutputArgs, RegistryArgs, context};
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
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionCheckArgs {
    /// The folder `vX.Y/PRODUCT`, or one that contains it
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Required tests: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image
    /// [default: the built-in list of the version]
    #[arg(long, value_name = "FILE|image[:REF]")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

pub(crate) fn submission(args: &SubmissionArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        SubmissionCommand::Assemble(args) => {
            let submission = app::assemble(&context(&args.registry), &args.options)?;
            print_assembled(&submission, args.output.format())
        }
        SubmissionCommand::Check(args) => {
            let checked = Checked::read(&context(&args.registry), &args.dir, args.required.as_ref())?;
            checked.print(args.output.format())?;
            Ok(checked.code(global))
        }
    }
}

/// Prints what was written. Keys of the document are never removed or renamed (docs/output.md).
pub(crate) fn print_assembled(submission: &Submission, format: DataFormat) -> Result<ExitCode, AppError> {
    let Submission { written, place, kubernetes, cases } = submission;
    let counted = cases.problem.is_none();
    print("failed to print the list of written files", |out| {
        if format == DataFormat::Json {
            let files: Vec<_> =
                written.files.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect();
            return print_json(
                &json!({
                    "folder": written.folder, "kubernetes": kubernetes, "title": place.title(), "files": files,
                    "ran": counted.then(|| cases.ran()), "skipped": counted.then(|| cases.skipped()),
                }),
                out,
            );
        }
        writeln!(out, "submission: {}", written.folder.display())?;
        writeln!(out, "Kubernetes: {kubernetes}")?;
        if counted {
            writeln!(out, "tests:      {} ran, {} skipped", cases.ran(), cases.skipped())?;
        }
        for (name, bytes) in &written.files {
            writeln!(out, "  {name:14} {}", size(*bytes))?;
        }
        writeln!(out, "title:      {}", place.title())?;
        writeln!(out, "next:       plumbline conformance submission check {}", shell_path(&written.folder))
    })
}

/// The findings about the folder of a submission.
pub(crate) struct Checked {
    folder: PathBuf,
    release: Option<String>,
    findings: Vec<Finding>,
    summary: Summary,
}

impl Checked {
    /// Checks the folder against the rules of the verifier.
    pub(crate) fn read(context: &Context, dir: &Path, source: Option<&RequiredFrom>) -> Result<Self, AppError> {
        let folder = Folder::read(dir)?;
        let mut contents = Contents {
            files: &folder.files,
            product: folder.product.as_deref(),
            log: &folder.log,
            cases: folder.cases.as_ref(),
            required: None,
        };
        let release = contents.release();
        let required = match release {
            Some(release) => required(context, source, release, folder.log.suite.as_deref())?,
            None => None,
        };
        contents.required = required.as_ref();
        let findings = submission::check(&contents);
        let summary = Summary::of(&findings);
        Ok(Self { folder: dir.to_owned(), release: release.map(|release| release.to_string()), findings, summary })
    }

    /// Returns the findings as data. Keys are never removed or renamed (docs/submission.md).
    pub(crate) fn document(&self) -> Value {
        json!({
            "folder": self.folder,
            "release": self.release,
            "findings": self.findings,
            "summary": self.summary,
        })
    }

    /// Prints the findings.
    pub(crate) fn print(&self, format: DataFormat) -> Result<ExitCode, AppError> {
        print("failed to print the findings", |out| match format {
            DataFormat::Text => print_findings(&self.findings, self.summary, out),
            DataFormat::Json => print_json(&self.document(), out),
        })
    }

    /// Returns the exit code: 0 if no rule is broken, 1 if one is, and 3 if the required tests are
    /// unknown.
    pub(crate) fn code(&self, global: &Global) -> ExitCode {
        global.code(match self.summary {
            Summary { failed: 1.., .. } => ExitCode::from(FAILED),
            Summary { incomplete: true, .. } => ExitCode::from(INCOMPLETE),
            _ => ExitCode::SUCCESS,
        })
    }
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

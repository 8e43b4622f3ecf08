//! `plumbline submission`

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_app::report::text::{name as printable_name, size};
use plumbline_app::submission::{self as app, AssembleOptions, Folder, Submission, required};
use plumbline_conformance::submission::{self, Contents, Finding, Outcome, Release, Summary};
use plumbline_core::shell_path;
use serde_json::{Value, json};

use crate::args::{
    DataFormat, ExitCodes, Global, SubmissionArgs, SubmissionAssembleArgs, SubmissionCheckArgs, SubmissionCommand,
};
use crate::context::context;
use crate::error::{FAILED, INCOMPLETE};
use crate::logging;

/// Runs a subcommand.
pub(crate) fn submission(args: &SubmissionArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    match &args.command {
        SubmissionCommand::Assemble(args) => assemble(args).map(|_| ExitCode::SUCCESS),
        SubmissionCommand::Check(args) => check(args, global),
    }
}

/// Assembles a submission, prints what was written, and returns the folder.
pub(crate) fn assemble(args: &SubmissionAssembleArgs) -> Result<PathBuf, AppError> {
    let options = AssembleOptions {
        archive: args.archive.clone(),
        product: args.product.clone(),
        output: args.output.clone(),
        plugin: args.plugin.clone(),
        folder: args.folder.clone(),
        kubernetes_version: args.kubernetes_version.clone(),
        readme: args.readme.clone(),
        anyway: args.anyway,
        required: args.required.required.clone(),
    };
    let submission = app::assemble(&context(&args.required.registry), &options)?;
    print_submission(&submission).map_err(|error| AppError::printing("what was written cannot be told", &error))?;
    Ok(submission.written.folder)
}

fn print_submission(submission: &Submission) -> io::Result<()> {
    let Submission { written, place, kubernetes, cases } = submission;
    let mut out = anstream::stdout().lock();
    writeln!(out, "submission: {}", written.folder.display())?;
    writeln!(out, "Kubernetes: {kubernetes}")?;
    if cases.problem.is_none() {
        writeln!(out, "tests:      {} ran, {} skipped", cases.ran(), cases.skipped())?;
    }
    for (name, bytes) in &written.files {
        writeln!(out, "  {name:14} {}", size(*bytes))?;
    }
    writeln!(out, "title:      {}", place.title())?;
    writeln!(out, "next:       plumbline submission check {}", shell_path(&written.folder))
}

/// Checks the folder and prints the findings. Exits with 0 if no rule is broken, 1 if one is, and 3 if the
/// required tests are not known.
pub(crate) fn check(args: &SubmissionCheckArgs, global: &Global) -> Result<ExitCode, AppError> {
    let context = context(&args.required.registry);
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
        Some(release) => required(&context, args.required.required.as_ref(), release, folder.log.suite.as_deref())?,
        None => None,
    };
    contents.required = required.as_ref();
    let findings = submission::check(&contents);
    let summary = Summary::of(&findings);
    let mut out = anstream::stdout().lock();
    let printed = match args.format {
        DataFormat::Text => print_findings(&findings, summary, &mut out),
        DataFormat::Json => print_json(&document(&args.dir, release, &findings, summary), &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the findings", &error))?;
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if summary.failed > 0 => ExitCode::from(FAILED),
        ExitCodes::Strict if summary.incomplete => ExitCode::from(INCOMPLETE),
        ExitCodes::Strict => ExitCode::SUCCESS,
    })
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

/// Returns the findings as data. Keys are never removed or renamed (docs/submission.md).
fn document(dir: &Path, release: Option<Release>, findings: &[Finding], summary: Summary) -> Value {
    json!({
        "folder": dir,
        "release": release.map(|release| release.to_string()),
        "findings": findings,
        "summary": summary,
    })
}

fn style(outcome: Outcome) -> Style {
    let colour = match outcome {
        Outcome::Passed => AnsiColor::Green,
        Outcome::Failed => AnsiColor::Red,
        Outcome::NotChecked => AnsiColor::Yellow,
    };
    Style::new().fg_color(Some(colour.into()))
}

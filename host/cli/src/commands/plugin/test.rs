//! `plumbline plugin test`

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::limits::Limits;
use plumbline_app::report::print_json;
use plumbline_app::{AppError, modules};
use plumbline_author::fuzz::{self, FuzzOptions, FuzzReport};
use plumbline_author::golden::{self, Bless, CaseReport, CaseResult, DiffLine, Project, Report, Runner};
use plumbline_author::project::{MANIFEST_FILE, Project as Sources};
use plumbline_author::{AuthorError, ErrorKind};
use plumbline_core::size::Bytes;
use serde_json::json;

use super::author;
use crate::args::{DataFormat, Global, TestArgs};
use crate::logging;
use crate::ui::say;

/// Runs golden cases, and damaged inputs if requested.
pub(crate) fn test(args: &TestArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let project = Project::open(&args.dir).map_err(|error| refused(&error))?;
    for warning in &project.warnings {
        say(&format!("warning: {warning}"));
    }
    let cases = golden::find(&project, &args.cases).map_err(|error| refused(&error))?;
    if !args.allow_stale {
        fresh(&project.dir)?;
    }
    let limits = Limits::load(args.limits.file.as_deref())?;
    let modules = modules::modules(&limits)?;
    let bless = match args {
        TestArgs { bless_errors: true, .. } => Bless::Errors,
        TestArgs { bless: true, .. } => Bless::Results,
        _ => Bless::Nothing,
    };
    let slow =
        |case: &str| say(&format!("case {case} is still running (a call may take {} s)", args.timeout.as_secs()));
    let runner = Runner { timeout: args.timeout, bless, slow: &slow, ..Runner::new(&modules, &limits.modules) };
    let report = golden::run(&project, &cases, &runner);
    let printing = |error: io::Error| AppError::printing("failed to print the report", &error);
    let text = args.format == DataFormat::Text;
    if text {
        print(&report, &mut anstream::stdout().lock()).map_err(printing)?;
    }
    let options = args.fuzz.map(|inputs| FuzzOptions { inputs, seed: args.seed });
    let fuzzed = options.map(|options| fuzz::run(&project, &cases, &runner, options)).transpose();
    let fuzzed = fuzzed.map_err(|error| fuzzing(&error))?;
    match (&fuzzed, text) {
        (Some(fuzzed), true) => print_fuzzed(fuzzed, args.seed, &mut anstream::stdout().lock()).map_err(printing)?,
        (None, true) => {}
        (fuzzed, false) => {
            let document = json!({
                "passed": report.is_good() && fuzzed.as_ref().is_none_or(|fuzzed| fuzzed.findings.is_empty()),
                "cases": report.to_json(),
                "fuzz": fuzzed.as_ref().map(|fuzzed| document(fuzzed, args.seed)),
            });
            print_json(&document, &mut io::stdout().lock()).map_err(printing)?;
        }
    }
    let good = report.is_good() && fuzzed.is_none_or(|fuzzed| fuzzed.findings.is_empty());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Rejects a module that was not built from its current sources. After a failed build,
/// the old module would be tested instead of the new one.
fn fresh(dir: &Path) -> Result<(), AppError> {
    if !dir.join(MANIFEST_FILE).exists() {
        return Ok(());
    }
    let sources = Sources::open(dir).map_err(author::error)?;
    match plumbline_author::stale(&sources).map_err(author::error)? {
        None => Ok(()),
        Some(reason) => Err(AppError::usage("the module is stale")
            .because(&io::Error::other(reason))
            .hint("build it with `plumbline plugin build`, or test it as it is with `--allow-stale`")),
    }
}

/// Converts the reason why no case could run.
pub(super) fn refused(error: &AuthorError) -> AppError {
    let told = AppError::usage("no case can be run").because(error);
    match &error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

fn fuzzing(error: &AuthorError) -> AppError {
    let what = "the module cannot be tried with damaged inputs";
    let told = match error.kind {
        ErrorKind::Input => AppError::usage(what),
        ErrorKind::System => AppError::system(what),
    };
    told.because(error)
}

/// Prints one line for each case, with its problems below it, and the summary.
pub(super) fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let width = report.cases.iter().map(|case| case.name.chars().count()).max().unwrap_or_default();
    for case in &report.cases {
        line(case, width, out)?;
    }
    writeln!(out, "{}", report.summary())
}

fn line(case: &CaseReport, width: usize, out: &mut impl Write) -> io::Result<()> {
    let colour = anstyle::Style::new().bold().fg_color(Some(if case.result.is_good() { GREEN } else { RED }.into()));
    write!(out, "{colour}{:7}{colour:#}  {:width$}", case.result.word(), case.name)?;
    match &case.result {
        CaseResult::Passed | CaseResult::Blessed { .. } | CaseResult::Failed(_) => {
            write!(out, "  {:>7.1} ms  {:>9}", case.wall.as_secs_f64() * 1e3, Bytes(case.memory).to_string())?;
        }
        CaseResult::Missing => {
            write!(out, "  nobody says what is expected: `plumbline plugin test --bless` writes `expected.yaml`")?;
        }
        CaseResult::Broken(reason) => write!(out, "  {reason}")?,
    }
    match &case.result {
        CaseResult::Blessed { new: true } => writeln!(out, "  `expected.yaml` is new")?,
        CaseResult::Blessed { new: false } => writeln!(out, "  `expected.yaml` was changed")?,
        _ => writeln!(out)?,
    }
    if let CaseResult::Failed(diff) = &case.result {
        writeln!(out, "  --- tests/{}/expected.yaml\n  +++ what the module says", case.name)?;
        for DiffLine { mark, text } in &diff.lines {
            let colour = match mark {
                '-' => Some(RED),
                '+' => Some(GREEN),
                '@' => Some(CYAN),
                _ => None,
            };
            let colour = anstyle::Style::new().fg_color(colour.map(Into::into));
            let mark = if *mark == '@' { String::new() } else { mark.to_string() };
            writeln!(out, "  {colour}{mark}{text}{colour:#}")?;
        }
        if diff.more > 0 {
            writeln!(out, "  ... {} more lines", diff.more)?;
        }
    }
    Ok(())
}

const GREEN: anstyle::AnsiColor = anstyle::AnsiColor::Green;
const RED: anstyle::AnsiColor = anstyle::AnsiColor::Red;
const CYAN: anstyle::AnsiColor = anstyle::AnsiColor::Cyan;

fn print_fuzzed(fuzzed: &FuzzReport, seed: u64, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{} damaged inputs (seed {seed}) in {:.1} s, {:.0} a second: {} refused, {} findings",
        fuzzed.inputs,
        fuzzed.wall.as_secs_f64(),
        fuzzed.rate(),
        fuzzed.refused,
        fuzzed.findings.len()
    )?;
    for finding in &fuzzed.findings {
        let colour = anstyle::Style::new().bold().fg_color(Some(RED.into()));
        writeln!(out, "{colour}finding{colour:#}  {}", finding.failure)?;
        writeln!(
            out,
            "         input {}: {} of case {}: {}",
            finding.input, finding.file, finding.case, finding.damage
        )?;
        writeln!(out, "         kept in {}", finding.kept.display())?;
    }
    Ok(())
}

fn document(fuzzed: &FuzzReport, seed: u64) -> serde_json::Value {
    let findings: Vec<_> = fuzzed
        .findings
        .iter()
        .map(|finding| {
            json!({
                "input": finding.input, "case": finding.case, "file": finding.file, "damage": finding.damage,
                "failure": finding.failure, "kept": finding.kept,
            })
        })
        .collect();
    json!({
        "seed": seed, "inputs": fuzzed.inputs, "seconds": fuzzed.wall.as_secs_f64(), "per-second": fuzzed.rate(),
        "refused": fuzzed.refused, "findings": findings,
    })
}

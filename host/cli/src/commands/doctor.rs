//! `plumbline doctor`

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use plumbline_app::AppError;
use plumbline_app::doctor::{CheckOutcome, CheckReport, examine};
use plumbline_app::modules::LimitsFile;
use plumbline_app::report::text::one_line;
use serde_json::{Value, json};

use crate::args::shared::{OutputArgs, RegistryArgs, context, insert};
use crate::commands::cluster::ClusterArgs;
use crate::commands::version::version_document;
use crate::error::FAILED;

const CODES: &str = "\
Exit codes:
  0  nothing failed; there may be warnings
  1  a check failed";

#[derive(Debug, clap::Args)]
#[command(after_help = CODES)]
pub(crate) struct DoctorArgs {
    /// Also check that the registry of this image has it; repeatable
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

pub(crate) fn doctor(args: &DoctorArgs) -> Result<ExitCode, AppError> {
    let reports = examine(&context(&args.registry), &args.image, &args.cluster, &args.limits)?;
    let failed = reports.iter().any(|report| report.outcome == CheckOutcome::Failed);
    // Keys of the document are never removed or renamed (docs/output.md).
    let mut data = version_document();
    insert(&mut data, "healthy", json!(!failed));
    insert(&mut data, "checks", json!(reports));
    args.output.print("failed to print the report", &data, |out| print_reports(&data, &reports, out))?;
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn print_reports(version: &Value, reports: &[CheckReport], out: &mut impl Write) -> io::Result<()> {
    let text = |key: &str| version.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    writeln!(out, "plumbline {} on {}", text("version"), text("platform"))?;
    for report in reports {
        let style = style(report.outcome);
        writeln!(out, "{style}{:7}{style:#}  {:10}  {}", report.outcome, report.name, one_line(&report.what))?;
        if let Some(hint) = &report.hint {
            writeln!(out, "{:21}hint: {}", "", one_line(hint))?;
        }
    }
    let count = |outcome| reports.iter().filter(|report| report.outcome == outcome).count();
    let (failed, warnings) = (count(CheckOutcome::Failed), count(CheckOutcome::Warning));
    writeln!(out, "\n{failed} failed, {warnings} warnings, {} checks", reports.len())
}

fn style(outcome: CheckOutcome) -> Style {
    match outcome {
        CheckOutcome::Ok => AnsiColor::Green.on_default(),
        CheckOutcome::Failed => AnsiColor::Red.on_default(),
        CheckOutcome::Warning | CheckOutcome::Skipped => AnsiColor::Yellow.on_default(),
    }
}

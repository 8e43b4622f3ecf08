//! `plumbline delete`

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_core::duration::parse_duration;
use plumbline_core::text::Printable;
use plumbline_kubernetes::delete::{Blocker, DeleteOptions, Object, Plan, Removed, plan, remove, wait};
use plumbline_kubernetes::{Cluster, ClusterError};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::name::Name;
use crate::args::shared::{OutputArgs, WaitOutput, insert, limit};
use crate::commands::cluster::{ClusterArgs, connect, fail, fail_cluster};
use crate::error::{INCOMPLETE, INTERRUPTED, PrintError as _, SYSTEM};
use crate::output::stderr;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// Also delete the cluster roles of every other run, and namespaces that end-to-end tests left
    /// behind
    #[arg(long)]
    pub(crate) all: bool,
    /// Whether to delete cluster roles and their bindings
    #[arg(long, value_enum, ignore_case = true, default_value_t = RbacArg::Detect, value_name = "KIND")]
    pub(crate) rbac: RbacArg,
    /// Wait until everything is deleted, at most this long; without a value, 1h
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "1h", value_parser = parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    /// Print what would be deleted, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Skip the confirmation (always skipped without a terminal)
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacArg {
    /// If the cluster has roles
    Detect,
    /// Same as `detect`
    Enable,
    /// Never
    Disable,
}

/// Time between two looks while waiting.
const LOOK: Duration = Duration::from_secs(5);
/// Sonobuoy's exit code for all errors.
const COMPAT: u8 = 1;

pub(crate) fn delete(args: &DeleteArgs, global: &Global) -> Result<ExitCode, AppError> {
    let runtime = runtime()?;
    let options =
        DeleteOptions { namespace: args.cluster.namespace.clone(), all: args.all, rbac: args.rbac != RbacArg::Disable };
    let planned = runtime.block_on(async {
        let cluster = connect(&args.cluster).await?;
        let plan = plan(&cluster, &options).await?;
        Ok::<_, ClusterError>((cluster, plan))
    });
    let (cluster, plan) = match planned {
        Ok(planned) => planned,
        Err(error) => return Ok(fail_cluster(&error, global)),
    };
    if args.dry_run {
        let data = document(&cluster, &plan, &Outcomes::default());
        args.output.print("failed to print what would be deleted", &data, |out| show(&plan, &cluster, out))?;
        return Ok(after(&plan.problems, global));
    }
    // If nobody reads stderr, the deletion still continues, because it was requested.
    let _ = show(&plan, &cluster, &mut stderr());
    // `sonobuoy delete` never asks.
    let asks = !args.yes && Name::current() == Name::Plumbline;
    if asks && !plan.objects.is_empty() && io::stdin().is_terminal() && io::stderr().is_terminal() && !agreed() {
        say("nothing was deleted");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let mut outcomes = Outcomes::default();
    let code = runtime.block_on(carry_out(args, global, &cluster, &plan, &mut outcomes));
    args.output.print("failed to print what was deleted", &document(&cluster, &plan, &outcomes), |_| Ok(()))?;
    Ok(code)
}

/// What happened to the objects of a plan.
#[derive(Default)]
struct Outcomes {
    /// The outcome of each object, in the order of the plan; empty if nothing was deleted.
    objects: Vec<&'static str>,
    /// The objects that still existed when the time was up.
    remaining: Vec<String>,
    /// Errors, without those of the plan.
    failed: Vec<String>,
}

/// Returns the plan and its outcome as data. Keys are never removed or renamed (docs/output.md).
fn document(cluster: &Cluster, plan: &Plan, outcomes: &Outcomes) -> Value {
    let object = |(at, object): (usize, &Object)| {
        let mut document = json!(object);
        let outcome = outcomes.objects.get(at).copied().unwrap_or("planned");
        insert(&mut document, "outcome", outcome.into());
        document
    };
    let problems: Vec<String> =
        plan.problems.iter().map(ToString::to_string).chain(outcomes.failed.iter().cloned()).collect();
    json!({
        "cluster": cluster.name(),
        "objects": plan.objects.iter().enumerate().map(object).collect::<Vec<_>>(),
        "contents": plan.contents,
        "other-objects": plan.foreign,
        "notes": plan.notes,
        "problems": problems,
        "remaining": outcomes.remaining,
    })
}

async fn carry_out(
    args: &DeleteArgs,
    global: &Global,
    cluster: &Cluster,
    plan: &Plan,
    outcomes: &mut Outcomes,
) -> ExitCode {
    let mut report = |removed: &Removed<'_>| {
        let (text, outcome) = match removed {
            Removed::Started(object) if object.terminating => ("already being deleted", (object, "deleted")),
            Removed::Started(object) => ("deleted", (object, "deleted")),
            Removed::WasGone(object) => ("already deleted", (object, "already-deleted")),
            Removed::Failed(object, _) => ("", (object, "failed")),
        };
        if !text.is_empty() {
            say(&format!("{text}: {}", outcome.0));
        }
        outcomes.objects.push(outcome.1);
    };
    let failed = remove(cluster, plan, &mut report).await;
    if !failed.is_empty() {
        outcomes.failed = failed.iter().map(ToString::to_string).collect();
        return after(&failed, global);
    }
    if let Some(limit) = args.wait.and_then(limit) {
        let mut shown = Vec::new();
        let mut tell = |blockers: &[Blocker]| {
            if args.wait_output != WaitOutput::Silent && shown != blockers {
                for blocker in blockers {
                    say(&format!("waiting: {blocker}"));
                }
                shown = blockers.to_vec();
            }
        };
        match wait(cluster, plan, Some(limit), LOOK, &mut tell).await {
            // Otherwise, the problems of the plan say what may remain.
            Ok(left) if left.is_empty() && !plan.problems.is_empty() => {}
            Ok(left) if left.is_empty() => say("deleted everything"),
            Ok(left) => {
                outcomes.remaining = left.iter().map(ToString::to_string).collect();
                return timed_out(&outcomes.remaining, limit, global);
            }
            Err(error) => {
                outcomes.failed.push(error.to_string());
                return fail_cluster(&error, global);
            }
        }
    }
    after(&plan.problems, global)
}

/// Returns the exit code after all deletions were tried, and prints the problems.
fn after(problems: &[ClusterError], global: &Global) -> ExitCode {
    let Some((last, before)) = problems.split_last() else { return ExitCode::SUCCESS };
    for problem in before {
        AppError::cluster(problem).print();
    }
    fail(&AppError::cluster(last), global, SYSTEM, COMPAT)
}

fn timed_out(left: &[String], limit: Duration, global: &Global) -> ExitCode {
    let error = AppError::system(format!("some objects still exist after {} s", limit.as_secs()))
        .cause(left.join("\n"))
        .hint("the cluster continues to delete them; to wait longer, run the same command again");
    fail(&error, global, INCOMPLETE, COMPAT)
}

fn show(plan: &Plan, cluster: &Cluster, out: &mut impl Write) -> io::Result<()> {
    let mut line = |indent: &str, text: Printable| writeln!(out, "{indent}{text}");
    let head = match plan.objects.is_empty() {
        true => format!("nothing to delete in cluster `{}`", cluster.name()),
        false => format!("will be deleted from cluster `{}`:", cluster.name()),
    };
    line("", head.into())?;
    for (at, object) in plan.objects.iter().enumerate() {
        let more = if object.is_namespace() { " with everything in it" } else { "" };
        line("  ", format!("{object}{more}").into())?;
        if at == 0 && !plan.contents.is_empty() {
            line("    ", plan.contents.join(", ").into())?;
        }
        if at == 0 && !plan.foreign.is_empty() {
            line("    ", format!("not part of the run: {}", plan.foreign.join(", ")).into())?;
        }
    }
    plan.notes.iter().try_for_each(|note| line("", format!("note: {note}").into()))
}

fn agreed() -> bool {
    let mut err = anstream::stderr().lock();
    if write!(err, "delete it? [y/N] ").and_then(|()| err.flush()).is_err() {
        return false;
    }
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

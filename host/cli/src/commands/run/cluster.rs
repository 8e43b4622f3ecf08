//! `plumbline run` in a cluster: creates the run, follows it, downloads its archive, and lists its
//! failures.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_app::cluster_run::{PreparedRun, find_plugins, prepare};
use plumbline_app::options::RunOptions;
use plumbline_app::report::run_document;
use plumbline_app::results::failures_text;
use plumbline_app::runtime::runtime;
use plumbline_app::signing::signing_key;
use plumbline_app::{AppError, Context};
use plumbline_bundle::signing::PrivateKey;
use plumbline_core::run_status::RunPhase;
use plumbline_core::{Verdict, shell_path};
use plumbline_kubernetes::retrieve::{Progress, RetrieveOptions, Wait, retrieve};
use plumbline_kubernetes::status::Seen;
use plumbline_kubernetes::{Change, Cluster, names};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::name::Name;
use crate::args::shared::{RunFormat, context, insert};
use crate::commands::generate::aggregator_log_level;
use crate::commands::history::prune;
use crate::commands::results_attest::attest_run;
use crate::commands::run::{Follow, earlier};
use crate::commands::wait::{code_of_run, exit_on_signal, print_end, signalled, until_over};
use crate::error::{PrintError as _, verdict_code};
use crate::output::{print, print_raw};
use crate::ui::{Transfer, say};

/// The end of a run, if it was followed.
pub(crate) struct Ended {
    pub(crate) code: ExitCode,
    /// Whether the verdict is `passed`. The exit code may not depend on it (`--exit-code`).
    pub(crate) passed: bool,
    pub(crate) archives: Vec<PathBuf>,
    /// The outcome as data, if it was requested and there is one (docs/output.md).
    pub(crate) document: Option<Value>,
}

impl Ended {
    pub(crate) fn print(&self, format: Option<RunFormat>) -> Result<(), AppError> {
        let (Some(format), Some(document)) = (format, &self.document) else { return Ok(()) };
        let printed = print_raw("failed to print the outcome", |out| format.write(document, out));
        printed.map(drop).map_err(|error| match self.archives.first() {
            Some(archive) => error.hint(format!("the archive is complete: {}", archive.display())),
            None => error,
        })
    }

    /// A run whose end was not seen.
    pub(super) fn unseen(code: ExitCode) -> Self {
        Self { code, passed: false, archives: Vec::new(), document: None }
    }
}

pub(crate) fn run(args: &RunOptions, how: Follow, global: &Global) -> Result<Ended, AppError> {
    let context = context(&args.registry);
    if args.sign.is_some() && !args.retrieve {
        return Err(AppError::usage("`--sign` needs the archive on this machine, but nothing downloads it")
            .hint("add `--retrieve`, or sign later with `plumbline results attest`"));
    }
    // An unusable key must not be noticed only after the run.
    let key = args.sign.as_deref().map(|file| signing_key(&context, Some(file))).transpose()?;
    let plugins = find_plugins(&context, args)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(Box::pin(async {
        let run = prepare(&context, args, plugins, aggregator_log_level(global)).await?;
        if args.dry_run {
            return dry_run(&run).await;
        }
        run.create().await?;
        say(&format!("run started in namespace `{}` of cluster `{}`", run.namespace, run.cluster.name()));
        follow(&context, args, how, global, &run, key.as_ref()).await
    }));
    // After a signal, the verification of a large archive is not awaited.
    runtime.shutdown_background();
    ended
}

/// Follows the run, and downloads its archive if that is requested.
async fn follow(
    context: &Context,
    args: &RunOptions,
    how: Follow,
    global: &Global,
    run: &PreparedRun,
    key: Option<&PrivateKey>,
) -> Result<Ended, AppError> {
    let PreparedRun { cluster, namespace, .. } = run;
    let data = args.format.is_some();
    let Follow::UntilEnd(limit) = how else {
        let program = Name::current().program();
        say(&format!("next: `{program} wait -n {namespace}`, then `{program} retrieve -n {namespace}`"));
        let document = data.then(|| started(cluster.name(), namespace));
        return Ok(Ended { document, ..Ended::unseen(ExitCode::SUCCESS) });
    };
    let seen = match until_over(cluster, namespace, args.wait_output, earlier(args), limit, global).await? {
        Ok(seen) => seen,
        Err(code) => return Ok(Ended::unseen(code)),
    };
    // A failed run has no archive, which is printed.
    let fetches = args.retrieve && seen.status.status != RunPhase::Failed;
    let printed = if data { Ok(()) } else { print_end(&seen, fetches) };
    let archives = match fetches {
        true => download(args, cluster, namespace).await?,
        false => Some(Vec::new()),
    };
    let Some(archives) = archives else { return Ok(Ended::unseen(verdict_code(Verdict::Interrupted))) };
    exit_on_signal();
    let verdict = Verdict::from_run(&seen.status);
    let attest = |key| archives.iter().try_for_each(|archive| attest_run(context, archive, key, verdict));
    let attested = key.map_or(Ok(()), attest);
    if let Some(archive) = archives.first() {
        prune(context, &args.retention, archive);
    }
    // The archive is downloaded even if the output was closed.
    printed?;
    if let Some(archive) = archives.first().filter(|_| !data) {
        print_failures(context, archive, &seen);
    }
    let document = data.then(|| {
        let mut document = run_document(cluster.name(), &seen, &seen.status, Timestamp::now());
        insert(&mut document, "downloaded", json!(archives));
        document
    });
    let passed = seen.is_over() && verdict == Verdict::Passed;
    let ended = Ended { code: code_of_run(&seen, global), passed, archives, document };
    // The outcome is printed even if it could not be signed.
    if let Err(error) = attested {
        ended.print(args.format)?;
        return Err(error);
    }
    Ok(ended)
}

fn print_failures(context: &Context, archive: &Path, seen: &Seen) {
    let mut failures = Vec::new();
    let read = failures_text(context, archive, &seen.status, &mut failures);
    let printed = print("failed to print the failures", |out| out.write_all(&failures));
    // The verdict and the archive are complete.
    if let Err(error) = printed.and(read) {
        error.print();
    }
    say(&format!("next:    plumbline results {}", shell_path(archive)));
}

/// Returns what is known of a run that was started and is not followed. The keys are those of its
/// status.
fn started(cluster: &str, namespace: &str) -> Value {
    json!({
        "run": null, "cluster": cluster, "namespace": namespace, "status": null, "verdict": null,
        "exit-code": null, "downloaded": [],
    })
}

async fn dry_run(run: &PreparedRun) -> Result<Ended, AppError> {
    for (title, change) in run.changes().await? {
        let would = match change {
            Change::Create => "would create",
            Change::Update => "would update",
            Change::Keep => "would keep",
        };
        say(&format!("{would} {title}"));
    }
    Ok(Ended::unseen(ExitCode::SUCCESS))
}

/// Downloads the archives. Returns `None` after a signal.
async fn download(args: &RunOptions, cluster: &Cluster, namespace: &str) -> Result<Option<Vec<PathBuf>>, AppError> {
    let dir = args.archive_dir().unwrap_or(Path::new(".")).to_owned();
    let mut options = RetrieveOptions::new(namespace, dir);
    names::AGGREGATOR_DIR.clone_into(&mut options.remote_dir);
    // The status says that the archive exists, but the pod may need a moment.
    options.wait = Wait::AtMost(Some(Duration::from_secs(60)));
    let mut view = Transfer::default();
    let mut tell = |progress: Progress<'_>| view.show_progress(progress);
    let brought = tokio::select! {
        brought = retrieve(cluster, &options, &mut tell) => Some(brought),
        () = signalled() => None,
    };
    view.end();
    let Some(brought) = brought else {
        let dir = shell_path(&options.dir);
        say(&format!(
            "interrupted: the partial download is kept; to resume, run `plumbline retrieve {dir} -n {namespace}`"
        ));
        return Ok(None);
    };
    let brought = brought.map_err(|error| {
        let app_error = AppError::system("failed to retrieve the archive").because(&error);
        app_error.hint(error.hint().unwrap_or_else(|| format!("try again with `plumbline retrieve -n {namespace}`")))
    })?;
    for archive in &brought {
        say(&format!("archive: {}", archive.path.display()));
    }
    Ok(Some(brought.into_iter().map(|archive| archive.path).collect()))
}

//! A run in a cluster: look first, create its objects, follow it, bring its archive home.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::limits::Limits;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::{self, ResolvedPlugin, definitions};
use plumbline_app::{AppError, judges, signing};
use plumbline_bundle::built_in::Place;
use plumbline_core::config::Config;
use plumbline_core::run_status::RunPhase;
use plumbline_core::shell_path;
use plumbline_kubernetes::manifest::rbac;
use plumbline_kubernetes::preflight::{Check, Finding, Preflight};
use plumbline_kubernetes::retrieve::{RetrieveOptions, Wait, retrieve};
use plumbline_kubernetes::{Change, Cluster, ServerVersion, create, names, plan_creation, title};
use serde_json::Value;

use super::failures::print_failures;
use crate::args::{Global, RunOptions, SkipPreflight};
use crate::commands::gen_delivery::check_modules;
use crate::commands::gen_options::Circumstances;
use crate::commands::generate::{objects, serves_rbac};
use crate::commands::status::{code_of_run, print_end};
use crate::commands::suite;
use crate::commands::wait::until_over;
use crate::compat::Name;
use crate::context::context;
use crate::error::PrintError as _;
use crate::logging;
use crate::ui::{Transfer, say};
use plumbline_app::Context;

/// Bytes of a manifest that is given: a run's objects are at most some MiB.
const MAX_MANIFEST: u64 = 64 << 20;

/// How a run in a cluster went, as far as it was followed.
pub(crate) struct Ended {
    /// The exit code.
    pub(crate) code: ExitCode,
    /// The archives that were brought home.
    pub(crate) archives: Vec<PathBuf>,
}

impl Ended {
    /// It was begun, and is not followed.
    fn begun() -> Self {
        Self { code: ExitCode::SUCCESS, archives: Vec::new() }
    }
}

/// Puts a run into a cluster, and follows it where somebody looks or waits.
pub(super) fn run(args: &RunOptions, global: &Global) -> Result<Ended, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let found = match &args.manifest {
        Some(_) => Vec::new(),
        None => plugins(&context, args)?,
    };
    let runtime = runtime()?;
    runtime.block_on(Box::pin(run_there(&context, args, global, found)))
}

fn plugins(context: &Context, args: &RunOptions) -> Result<Vec<ResolvedPlugin>, AppError> {
    let find = |reference: &String| sources::find(context, reference, Place::Cluster);
    let mut found = args.plugins.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() {
        let default = suite::DEFAULT_PLUGINS.iter().map(|name| sources::find(context, name, Place::Cluster));
        found = default.collect::<Result<_, _>>()?;
    }
    for plugin in &found {
        for warning in &plugin.warnings {
            say(&format!("warning: `{}`: {warning}", plugin.origin));
        }
    }
    signing::check(context, &found, &args.requirements())?;
    judges::apply(context, &(&args.judge).into(), &mut found, &Limits::load(args.limits.file.as_deref())?)?;
    let definitions: Vec<_> = found.iter().map(|plugin| plugin.source.definition.as_ref().clone()).collect();
    plumbline_core::definition::check_set(&definitions)
        .map_err(|error| AppError::usage("these plugins cannot run together").because(&error))?;
    Ok(found)
}

async fn run_there(
    context: &Context,
    args: &RunOptions,
    global: &Global,
    found: Vec<ResolvedPlugin>,
) -> Result<Ended, AppError> {
    let config = args.cluster_run.config(&args.cluster.namespace, args.timeout)?;
    check_modules(&found, &config)?;
    let given = args.manifest.as_deref().map(read_manifest).transpose()?;
    let namespace = match &given {
        Some(objects) => namespace_of(objects).unwrap_or_else(|| config.namespace.clone()),
        None => config.namespace.clone(),
    };
    let cluster = Cluster::connect(&args.cluster.connect_options()).await.map_err(|error| AppError::cluster(&error))?;
    let preflight = preflight(args, &namespace);
    let (version, findings) = preflight.run(&cluster).await.map_err(|error| AppError::cluster(&error))?;
    judge_findings(findings)?;

    let objects = match given {
        Some(objects) => objects,
        None => compose(context, args, global, &cluster, config, found, version).await?,
    };
    judge_findings(preflight.permissions(&cluster, &objects).await)?;
    if args.dry_run {
        return dry_run(&cluster, &objects).await;
    }
    create(&cluster, &objects, |object, change| tracing::info!("{object}: {change:?}"))
        .await
        .map_err(|error| AppError::cluster(&error))?;
    say(&format!("run begun in namespace `{namespace}` of cluster `{}`", cluster.name()));
    follow(context, args, global, &cluster, &namespace).await
}

/// The objects of a run, as the options want it.
async fn compose(
    context: &Context,
    args: &RunOptions,
    global: &Global,
    cluster: &Cluster,
    mut config: Config,
    mut found: Vec<ResolvedPlugin>,
    version: ServerVersion,
) -> Result<Vec<Value>, AppError> {
    let questions = args.cluster_run.questions(&config, true);
    let serves_rbac = match questions.rbac {
        true => Some(serves_rbac(cluster).await.map_err(|error| AppError::cluster(&error))?),
        false => None,
    };
    suite::settle(context, &args.suite, &mut config, definitions(&mut found), Some(&version)).await?;
    let circumstances = Circumstances { found, level: global.level, server: Some(version), serves_rbac };
    let mut options = args.cluster_run.manifest_options(context, config, circumstances)?;
    options.ssh_key = suite::ssh_key(&args.suite)?;
    suite::retry(&args.suite, &mut options)?;
    if !args.skip_preflight.contains(&SkipPreflight::All) {
        suite::look(context, &args.suite, &options, true).await?;
    }
    for line in rbac::why(&options).iter().filter(|_| args.dry_run && options.rbac) {
        say(&format!("permission: {line}"));
    }
    for line in rbac::notices(&options) {
        say(&format!("note: {line}"));
    }
    objects(&options)
}

/// Follows the run that has begun, if somebody looks or waits, and fetches its archive, if that is asked for.
async fn follow(
    context: &Context,
    args: &RunOptions,
    global: &Global,
    cluster: &Cluster,
    namespace: &str,
) -> Result<Ended, AppError> {
    // `sonobuoy run` returns at once, on a terminal too.
    let follows = std::io::stderr().is_terminal() && Name::current() == Name::Plumbline;
    if args.wait.is_none() && !args.retrieve && !follows {
        let program = Name::current().program();
        say(&format!("next: `{program} wait -n {namespace}`, then `{program} retrieve -n {namespace}`"));
        return Ok(Ended::begun());
    }
    let minutes = args.wait.filter(|&minutes| minutes > 0);
    let limit = minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
    let seen = match until_over(cluster, namespace, args.wait_output, limit, global).await? {
        Ok(seen) => seen,
        Err(code) => return Ok(Ended { code, archives: Vec::new() }),
    };
    // A run that has failed as a whole left no archive, and that is told.
    let fetches = args.retrieve && seen.status.status != RunPhase::Failed;
    let printed = print_end(&seen, fetches);
    let archives = match fetches {
        true => bring_home(args, cluster, namespace).await?,
        false => Vec::new(),
    };
    // Whoever closed the output wants the archive of these hours all the same.
    printed?;
    if let Some(archive) = archives.first() {
        if let Err(error) = print_failures(context, archive, &seen.status) {
            // The verdict stands, and the archive is home.
            error.print();
        }
        say(&format!("next:    plumbline results {}", shell_path(archive)));
    }
    Ok(Ended { code: code_of_run(&seen, global), archives })
}

/// Prints what a run would change.
async fn dry_run(cluster: &Cluster, objects: &[Value]) -> Result<Ended, AppError> {
    for object in objects {
        let would = match plan_creation(cluster, object).await.map_err(|error| AppError::cluster(&error))? {
            Change::Create => "would create",
            Change::Update => "would update",
            Change::Keep => "would keep",
        };
        say(&format!("{would} {}", title(object)));
    }
    Ok(Ended::begun())
}

fn preflight(args: &RunOptions, namespace: &str) -> Preflight {
    Preflight {
        namespace: namespace.to_owned(),
        dns_namespace: args.dns_namespace.clone(),
        dns_labels: args.dns_pod_labels.clone(),
        skip: args.skip_preflight.iter().flat_map(|skip| skip.checks()).collect(),
    }
}

/// Prints findings; an error where one of them is fatal.
fn judge_findings(findings: Vec<Finding>) -> Result<(), AppError> {
    let (fatal, warnings): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(|finding| finding.fatal);
    for finding in warnings {
        say(&format!("warning: {}", finding.what));
        say(&format!("hint:    {}", finding.hint));
    }
    let mut fatal = fatal.into_iter();
    let Some(first) = fatal.next() else { return Ok(()) };
    for finding in fatal {
        AppError::system(finding.what).hint(finding.hint).print();
    }
    Err(AppError::system(first.what).hint(first.hint))
}

fn read_manifest(path: &Path) -> Result<Vec<Value>, AppError> {
    let shown = path.display();
    let wrong = || AppError::usage(format!("invalid manifest `{shown}`"));
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_MANIFEST).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_MANIFEST).read_to_string(&mut text))
    };
    read.map_err(|error| wrong().because(&error))?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|error| wrong().because(&error))?;
    let objects: Vec<Value> = objects.into_iter().filter(|object| !object.is_null()).collect();
    if objects.is_empty() {
        return Err(wrong().hint("there is no object in it: `plumbline gen` prints one"));
    }
    Ok(objects)
}

/// That of the first object that lives in one.
fn namespace_of(objects: &[Value]) -> Option<String> {
    objects.iter().find_map(|object| object.pointer("/metadata/namespace")?.as_str().map(str::to_owned))
}

async fn bring_home(args: &RunOptions, cluster: &Cluster, namespace: &str) -> Result<Vec<PathBuf>, AppError> {
    let dir = args.output.clone().unwrap_or_else(|| ".".into());
    let mut options = RetrieveOptions::new(namespace, dir);
    names::AGGREGATOR_DIR.clone_into(&mut options.remote_dir);
    // It exists: the status says so. The pod may need a moment all the same.
    options.wait = Wait::AtMost(Some(Duration::from_secs(60)));
    let mut view = Transfer::default();
    let brought = retrieve(cluster, &options, &mut |progress| view.tell(progress)).await;
    view.end();
    let brought = brought.map_err(|error| {
        let told = AppError::system("failed to retrieve the archive").because(&error);
        told.hint(error.hint().unwrap_or_else(|| format!("try again with `plumbline retrieve -n {namespace}`")))
    })?;
    for archive in &brought {
        say(&format!("archive: {}", archive.path.display()));
    }
    Ok(brought.into_iter().map(|archive| archive.path).collect())
}

impl SkipPreflight {
    /// The checks that are left out.
    fn checks(&self) -> Vec<Check> {
        match self {
            Self::All => Check::ALL.to_vec(),
            Self::None => Vec::new(),
            Self::One(check) => vec![*check],
        }
    }
}

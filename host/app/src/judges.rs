//! Turns options into chains of judges, and checks the lists that judges read before a run starts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumbline_aggregator::{Judged, Source, judge_plugin, plan_judges};
use plumbline_archive::layout::META_MODULES;
use plumbline_conformance::chain::{Baseline, Chain, ChainError, ListFile};
use plumbline_core::definition::Definition;
use plumbline_sandbox::PluginInfo;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files;
use crate::history::{
    History, HistoryReport, RunIdentity, Selection, flaky_list, flaky_tests, is_history, known_failures,
};
use crate::modules::{Limits, modules};
use crate::sources::ResolvedPlugin;
use crate::trees::{Reprocess, Trees};

/// The plugin to judge if none is named and there are several.
const SUITE: &str = "e2e";

/// How many runs in a row a known failure must have failed, if the user sets no number.
pub const DEFAULT_BASELINE_RUNS: u64 = 3;

/// How failures are judged.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Judging options")]
pub struct JudgeOptions {
    /// List of known failures that do not count, in YAML or JSON (docs/judges.md); repeatable
    #[arg(long, value_name = "FILE")]
    pub known_failures: Vec<PathBuf>,
    /// List of flaky tests whose failures do not count, or archives of runs that show which tests
    /// are flaky (a directory, `s3://…` or `oci://…`); repeatable
    #[arg(long, value_name = "FILE|DIR|URL")]
    pub flaky: Vec<PathBuf>,
    /// List of tests that may be skipped; every other skipped test counts as a failure; repeatable
    #[arg(long, value_name = "FILE")]
    pub allowed_skips: Vec<PathBuf>,
    /// Regular expression for tests that must not be skipped unless a list allows it, such as
    /// `\[Conformance\]`
    #[arg(long, value_name = "REGEX")]
    pub required_tests: Option<String>,
    /// Archive of an earlier run, or the archives of many (a directory, `s3://…` or `oci://…`):
    /// failures that they have too do not count
    #[arg(long, value_name = "ARCHIVE|DIR|URL")]
    pub baseline: Option<PathBuf>,
    /// With many archives as baseline: how many runs in a row a test must have failed, up to now
    #[arg(long, value_name = "N", requires = "baseline", default_value_t = DEFAULT_BASELINE_RUNS, value_parser = clap::value_parser!(u64).range(1..))]
    pub baseline_runs: u64,
    /// File of checks: requirements on results, health and logs (docs/judges.md); repeatable
    #[arg(long, value_name = "FILE")]
    pub checks: Vec<PathBuf>,
    /// The plugin to judge [default: `e2e` if there is one, otherwise the only plugin]
    #[arg(long, value_name = "NAME")]
    pub judge_plugin: Option<String>,
}

impl JudgeOptions {
    /// The first option that is set, by its name on the command line.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            (!self.known_failures.is_empty(), "--known-failures"),
            (!self.flaky.is_empty(), "--flaky"),
            (!self.allowed_skips.is_empty(), "--allowed-skips"),
            (self.required_tests.is_some(), "--required-tests"),
            (self.baseline.is_some(), "--baseline"),
            (!self.checks.is_empty(), "--checks"),
            (self.judge_plugin.is_some(), "--judge-plugin"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The options that excuse failures, by their names on the command line.
    pub fn excusing(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (!self.known_failures.is_empty(), "--known-failures"),
            (!self.flaky.is_empty(), "--flaky"),
            (self.baseline.is_some(), "--baseline"),
        ];
        all.into_iter().filter_map(|(given, name)| given.then_some(name))
    }
}

/// Selects the one of `plugins` that is judged. `suite` is the one that runs the suite of a profile.
pub(crate) fn judged_plugin(
    options: &JudgeOptions,
    plugins: &[String],
    suite: Option<String>,
) -> Result<String, AppError> {
    let names = || format!("plugins: `{}`", plugins.join("`, `"));
    match &options.judge_plugin {
        Some(name) if plugins.contains(name) => Ok(name.clone()),
        Some(name) => {
            let wrong = AppError::usage(format!("plugin `{name}` not found"));
            Err(if plugins.is_empty() { wrong } else { wrong.hint(names()) })
        }
        None => match (plugins, suite) {
            ([only], _) => Ok(only.clone()),
            (_, Some(suite)) => Ok(suite),
            (several, None) if several.iter().any(|name| name == SUITE) => Ok(SUITE.to_owned()),
            _ => {
                let option = options.given().unwrap_or("--checks");
                Err(AppError::usage(format!("`{option}` judges one plugin, but there are several"))
                    .hint(format!("choose one with `--judge-plugin`; {}", names())))
            }
        },
    }
}

/// Reads the files and the archive that `options` name, and makes the chain of judges for `plugin`.
///
/// `judged` is the archive of the run that is judged, if it has ended. The run is not part of the
/// history, and not a baseline.
pub fn chain(
    context: &Context,
    options: &JudgeOptions,
    plugin: &str,
    limits: &Limits,
    judged: Option<&Trees>,
) -> Result<Chain, AppError> {
    let read = |files: &[PathBuf]| {
        let lists: Result<Vec<ListFile>, ChainError> = files.iter().map(|path| ListFile::read(path)).collect();
        lists
            .usage_error("failed to pass files to the judges")
            .hint("see docs/judges.md for the format and the limits of lists and checks")
    };
    let (flaky_dirs, flaky_files): (Vec<PathBuf>, Vec<PathBuf>) =
        options.flaky.iter().cloned().partition(|path| path.is_dir() || is_history(path));
    let history = |dir: &Path| history(context, dir, plugin, limits, judged);
    let mut flaky = read(&flaky_files)?;
    for dir in &flaky_dirs {
        let (report, source) = history(dir)?;
        flaky.push(ListFile::new(FLAKY_LIST, flaky_list(&flaky_tests(&report), &source)));
    }
    let chain = Chain {
        known_failures: read(&options.known_failures)?,
        flaky,
        allowed_skips: read(&options.allowed_skips)?,
        required: options.required_tests.clone(),
        baseline: match options.baseline.as_deref() {
            Some(archive) if is_history(archive) => {
                let (report, source) = history(archive)?;
                let known = known_failures(&report, options.baseline_runs);
                let names = known.iter().map(|test| test.list_name()).collect();
                let wrong = format!("failed to use the history in `{}` as baseline", archive.display());
                Some(Baseline::of_names(names, source).usage_error(wrong)?)
            }
            Some(archive) => Some(baseline(context, archive, plugin, limits, judged)?),
            None => None,
        },
        checks: read(&options.checks)?,
    };
    if chain.is_empty() {
        return Err(AppError::usage("`--judge-plugin` needs a list, an archive or checks to judge by")
            .hint("pass one of them, such as `--known-failures FILE` (docs/judges.md)"));
    }
    Ok(chain)
}

const MAX_PROBLEMS: usize = 5;

const FLAKY_LIST: &str = "measured-flaky-tests.yaml";

/// The hint for an archive that is not a baseline.
const EARLIER_ARCHIVE: &str = "choose the results archive of an earlier run";

/// The history of `plugin` in the archives of runs, and its name as the source of rulings. A
/// missing run could be the one in which a test passed, so every archive must be readable.
fn history(
    context: &Context,
    dir: &Path,
    plugin: &str,
    limits: &Limits,
    judged: Option<&Trees>,
) -> Result<(HistoryReport, String), AppError> {
    let history = History::open(context, &[dir.to_owned()], limits)?;
    if !history.problems().is_empty() {
        let failed = AppError::usage(format!("failed to judge by the history in `{}`", dir.display()));
        let problems = history.problems().iter().take(MAX_PROBLEMS);
        let failed = problems.fold(failed, |failed, problem| failed.cause(problem.to_string()));
        return Err(failed.hint("repair or remove archives that cannot be read"));
    }
    let (plugin, except_run) = (Some(plugin.to_owned()), judged.map(RunIdentity::of).transpose()?);
    let report = history.report(&Selection { plugin, except_run, ..Selection::default() })?;
    let source = format!("history of {} runs in {}", report.runs.len(), dir.display());
    Ok((report, source))
}

/// The failures of `plugin` in `archive`. The archive of the run that is judged would excuse all of
/// them, for example through a link to the newest archive.
fn baseline(
    context: &Context,
    archive: &Path,
    plugin: &str,
    limits: &Limits,
    judged: Option<&Trees>,
) -> Result<Baseline, AppError> {
    let mut trees = Trees::open(context, archive, Reprocess { limits: limits.clone(), ..Reprocess::default() })?;
    let cannot = format!("failed to use archive `{}` as baseline", archive.display());
    let is_judged = judged.map_or(Ok(false), |judged| trees.is_of_same_run(judged));
    if is_judged.usage_error(&cannot).hint(EARLIER_ARCHIVE)? {
        return Err(AppError::usage(cannot)
            .cause("it is an archive of the run that is judged, so it would excuse every failure")
            .hint(EARLIER_ARCHIVE));
    }
    let known = trees.plugins();
    if !known.iter().any(|name| name == plugin) {
        return Err(AppError::usage(format!(
            "archive `{}` is not a baseline for plugin `{plugin}`",
            archive.display()
        ))
        .hint(format!("it has the plugins `{}`", known.join("`, `"))));
    }
    let root = trees.item(plugin).map_err(|error| error.hint("a baseline needs that tree: choose another archive"))?;
    let baseline = Baseline::of_tree(&root, archive).usage_error(&cannot).hint(EARLIER_ARCHIVE);
    root.dismantle();
    baseline
}

/// Appends the judges of `options` to the chain of their plugin, and lets them read their lists, so
/// that mistakes are reported before the run starts. `runs_profile` says whether the first plugin runs
/// the suite of a profile. A definition that says so may be that of an earlier run.
pub fn apply(
    context: &Context,
    options: &JudgeOptions,
    found: &mut [ResolvedPlugin],
    runs_profile: bool,
    limits: &Limits,
) -> Result<(), AppError> {
    if options.given().is_none() {
        return Ok(());
    }
    let names: Vec<String> = found.iter().map(|one| one.source.definition.name.to_string()).collect();
    let suite = names.first().filter(|_| runs_profile).cloned();
    let plugin = judged_plugin(options, &names, suite)?;
    let chain = chain(context, options, &plugin, limits, None)?;
    let judged = found.iter_mut().filter(|one| one.source.definition.name.as_str() == plugin);
    for one in judged {
        let before = one.source.definition.plumbline.verdict.len();
        chain
            .apply(Arc::make_mut(&mut one.source.definition))
            .usage_error(format_args!("failed to judge plugin `{plugin}`"))
            .hint("see docs/judges.md for the format of lists and checks")?;
        rehearse(&one.source, before, &plugin, limits)?;
    }
    Ok(())
}

/// Returns the one of `plugins` that ran the suite of a profile, if only one did. The definition of
/// another plugin may be that of an earlier run, and is not part of a bundle.
pub(crate) fn suite_of_profile(trees: &mut Trees, plugins: &[String]) -> Option<String> {
    let modules = trees.document(META_MODULES);
    let entries = modules.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let bundles = entries.filter(|entry| entry.get("bundle").is_some_and(Value::is_string));
    let in_bundle: Vec<&str> = bundles.filter_map(|entry| entry.get("plugin")?.as_str()).collect();
    let mut ran = |plugin: &str| {
        let Some(member) = trees.archive().definition(plugin) else { return false };
        let document = trees.document(&member);
        let plumbline = document.get("Definition").unwrap_or(&document).get("plumbline");
        // A rerun is a copy of the suite's plugin.
        plumbline.is_some_and(|own| own.get("suite").is_some() && own.get("reruns").is_none())
    };
    let mut suites = plugins.iter().filter(|plugin| in_bundle.contains(&plugin.as_str()) && ran(plugin));
    suites.next().filter(|_| suites.next().is_none()).cloned()
}

/// Checks that no option is set if the definitions of plugins cannot change. `why` says why they
/// cannot.
pub fn not_with(options: &JudgeOptions, why: &str, hint: &str) -> Result<(), AppError> {
    match options.given() {
        None => Ok(()),
        Some(option) => Err(AppError::usage(format!("`{option}` changes a plugin, but {why}")).hint(hint)),
    }
}

/// Lets the judges of `chain` read their lists for `plugin`, whose definition is not known.
pub fn rehearse_chain(chain: &Chain, plugin: &str, limits: &Limits) -> Result<(), AppError> {
    let wrong = format!("failed to judge plugin `{plugin}`");
    // Names in old archives may be invalid today. The name does not matter here.
    let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "plugin"}, "spec": {}});
    let mut definition = Definition::from_json(document).usage_error(&wrong)?.definition;
    chain.apply(&mut definition).usage_error(&wrong)?;
    rehearse(&Source { definition: Arc::new(definition), bundle: None }, 0, plugin, limits)
}

/// Lets the judges of `source`, from index `first`, judge an empty tree without evidence, so that
/// each reads its lists and reports errors in them. `name` is the plugin's name for messages.
fn rehearse(source: &Source, first: usize, name: &str, limits: &Limits) -> Result<(), AppError> {
    let mut definition = source.definition.as_ref().clone();
    definition.plumbline.verdict.drain(..first);
    // There is no evidence, and the judge itself reports wrong patterns, with their places.
    definition.plumbline.verdict.iter_mut().for_each(|entry| entry.evidence.clear());
    if definition.plumbline.verdict.is_empty() {
        return Ok(());
    }
    let source = Source { definition: Arc::new(definition), bundle: source.bundle.clone() };
    let judges = plan_judges(&modules(limits)?, &limits.modules, &source)
        .usage_error(format_args!("failed to judge plugin `{name}`"))?;
    let scratch = files::scratch()?;
    let (items, root) = (scratch.path().join("items"), scratch.path().join("archive"));
    File::create(&items).and_then(|_| fs::create_dir(&root)).system_error(files::NO_ROOM)?;
    let info = PluginInfo {
        name: name.to_owned(),
        driver: source.definition.driver.as_str().to_owned(),
        ..PluginInfo::default()
    };
    let judged = Judged {
        plugin: &info,
        items: &items,
        root: &root,
        data: &source.definition.config_map,
        day: Timestamp::now().to_zoned(TimeZone::UTC).date(),
    };
    let (verdict, _) = judge_plugin(&judges, judged).system_error(format_args!("failed to judge plugin `{name}`"))?;
    match verdict.chain.into_iter().find_map(|record| Some((record.judge, record.error?))) {
        None => Ok(()),
        Some((judge, error)) => {
            let what = format!("judge `{judge}` rejected its input for plugin `{name}`");
            Err(AppError::usage(what).cause(error).hint("see docs/judges.md for the format of lists and checks"))
        }
    }
}

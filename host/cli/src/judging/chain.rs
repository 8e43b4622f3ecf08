//! From options to a chain.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumbline_aggregator::{Judged, Source, judge_plugin, plan_judges};
use plumbline_conformance::chain::{Baseline, Chain, ChainError, ListFile};
use plumbline_core::definition::Definition;
use plumbline_sandbox::PluginInfo;
use serde_json::json;

use crate::args::JudgeArgs;
use crate::built_in;
use crate::error::CliError;
use crate::limits::Limits;
use crate::sources::Found;
use crate::trees::{Reprocess, Trees};

/// The plugin that is meant where none is named and several are there.
const SUITE: &str = "e2e";

/// Which of `plugins` is judged.
pub(crate) fn judged_plugin(args: &JudgeArgs, plugins: &[String]) -> Result<String, CliError> {
    let names = || format!("there are `{}`", plugins.join("`, `"));
    match &args.judge_plugin {
        Some(name) if plugins.contains(name) => Ok(name.clone()),
        Some(name) => {
            let wrong = CliError::usage(format!("there is no plugin `{name}` to be judged"));
            Err(if plugins.is_empty() { wrong } else { wrong.hint(names()) })
        }
        None => match plugins {
            [only] => Ok(only.clone()),
            several if several.iter().any(|name| name == SUITE) => Ok(SUITE.to_owned()),
            _ => {
                let option = args.given().unwrap_or("--checks");
                Err(CliError::usage(format!("which plugin does `{option}` mean?"))
                    .hint(format!("name it with `--judge-plugin`: {}", names())))
            }
        },
    }
}

/// What `plugin` is to be judged by, from the files and the archive that were named.
pub(crate) fn chain(args: &JudgeArgs, plugin: &str, limits: &Limits) -> Result<Chain, CliError> {
    let read = |files: &[PathBuf]| {
        let lists: Result<Vec<ListFile>, ChainError> = files.iter().map(|path| ListFile::read(path)).collect();
        lists.map_err(|error| CliError::usage("the judges cannot be given their files").because(&error))
    };
    let chain = Chain {
        known_failures: read(&args.known_failures)?,
        flaky: read(&args.flaky)?,
        allowed_skips: read(&args.allowed_skips)?,
        required: args.required_tests.clone(),
        baseline: args.baseline.as_deref().map(|archive| baseline(archive, plugin, limits)).transpose()?,
        checks: read(&args.checks)?,
    };
    if chain.is_empty() {
        return Err(CliError::usage("`--judge-plugin` says whose results are judged, and nothing says by what")
            .hint("name a list, an archive or checks, such as `--known-failures FILE` (docs/judges.md)"));
    }
    Ok(chain)
}

/// What failed of `plugin` in an earlier run.
fn baseline(archive: &Path, plugin: &str, limits: &Limits) -> Result<Baseline, CliError> {
    let mut trees = Trees::open(archive, Reprocess { limits: limits.clone(), ..Reprocess::default() })?;
    let known = trees.plugins();
    if !known.iter().any(|name| name == plugin) {
        return Err(CliError::usage(format!(
            "archive `{}` is not a baseline for plugin `{plugin}`",
            archive.display()
        ))
        .hint(format!("it has the plugins `{}`", known.join("`, `"))));
    }
    let root = trees.item(plugin).map_err(|error| error.hint("a baseline needs that tree: name another archive"))?;
    let baseline = Baseline::of_tree(&root, archive).map_err(|error| {
        CliError::usage(format!("archive `{}` cannot be the baseline", archive.display())).because(&error)
    });
    root.dismantle();
    baseline
}

/// Appends what `args` asks for to the chain of the plugin that is meant, and has the judges look at what they are given: what is wrong with a
/// list must not come out when the run has ended.
pub(crate) fn apply(args: &JudgeArgs, found: &mut [Found], limits: &Limits) -> Result<(), CliError> {
    if args.given().is_none() {
        return Ok(());
    }
    let names: Vec<String> = found.iter().map(|one| one.source.definition.name.to_string()).collect();
    let plugin = judged_plugin(args, &names)?;
    let chain = chain(args, &plugin, limits)?;
    let judged = found.iter_mut().filter(|one| one.source.definition.name.as_str() == plugin);
    for one in judged {
        let before = one.source.definition.plumbline.verdict.len();
        chain
            .apply(Arc::make_mut(&mut one.source.definition))
            .map_err(|error| CliError::usage(format!("failed to judge plugin `{plugin}`")).because(&error))?;
        rehearse(&one.source, before, limits)?;
    }
    Ok(())
}

/// An error if one of these options is given where the definitions of plugins are fixed already, as `why` says.
pub(crate) fn not_with(args: &JudgeArgs, why: &str, hint: &str) -> Result<(), CliError> {
    match args.given() {
        None => Ok(()),
        Some(option) => Err(CliError::usage(format!("`{option}` changes a plugin, and {why}")).hint(hint)),
    }
}

/// Has the judges of `chain` look at what they are given for `plugin`, of which nothing else is known.
pub(crate) fn rehearse_alone(chain: &Chain, plugin: &str, limits: &Limits) -> Result<(), CliError> {
    let wrong =
        |error: &dyn std::error::Error| CliError::usage(format!("failed to judge plugin `{plugin}`")).because(error);
    // Old archives have plugins whose names no definition may have: here the name matters to nobody.
    let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "plugin"}, "spec": {}});
    let mut definition = Definition::from_json(document).map_err(|error| wrong(&error))?.definition;
    chain.apply(&mut definition).map_err(|error| wrong(&error))?;
    rehearse_as(&Source { definition: Arc::new(definition), bundle: None }, 0, plugin, limits)
}

/// Has the judges of `source` from number `first` on judge a tree without items, without evidence: each reads its lists then, and says what is wrong
/// with them.
pub(super) fn rehearse(source: &Source, first: usize, limits: &Limits) -> Result<(), CliError> {
    rehearse_as(source, first, source.definition.name.as_str(), limits)
}

fn rehearse_as(source: &Source, first: usize, name: &str, limits: &Limits) -> Result<(), CliError> {
    let mut definition = source.definition.as_ref().clone();
    definition.plumbline.verdict.drain(..first);
    // None is there; and what is wrong with a pattern is said by the judge, with its place.
    definition.plumbline.verdict.iter_mut().for_each(|entry| entry.evidence.clear());
    if definition.plumbline.verdict.is_empty() {
        return Ok(());
    }
    let source = Source { definition: Arc::new(definition), bundle: source.bundle.clone() };
    let wrong =
        |error: &dyn std::error::Error| CliError::usage(format!("failed to judge plugin `{name}`")).because(error);
    let judges = plan_judges(&built_in::modules(limits)?, &limits.modules, &source).map_err(|error| wrong(&error))?;
    let no_room =
        |error: io::Error| CliError::system("failed to create a directory for temporary files").because(&error);
    let scratch = tempfile::tempdir().map_err(no_room)?;
    let (items, root) = (scratch.path().join("items"), scratch.path().join("archive"));
    File::create(&items).and_then(|_| fs::create_dir(&root)).map_err(no_room)?;
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
    let verdict = judge_plugin(&judges, judged)
        .map_err(|error| CliError::system(format!("failed to judge plugin `{name}`")).because(&error))?;
    match verdict.chain.into_iter().find_map(|record| Some((record.judge, record.error?))) {
        None => Ok(()),
        Some((judge, error)) => {
            let what = format!("the judge `{judge}` cannot use what it is given for plugin `{name}`");
            Err(CliError::usage(what)
                .because(&io::Error::other(error))
                .hint("docs/judges.md shows what lists and checks look like"))
        }
    }
}

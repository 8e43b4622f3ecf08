//! From options to a chain.

use std::path::{Path, PathBuf};

use plumbline_conformance::chain::{Baseline, Chain, ChainError, ListFile};

use crate::args::JudgeArgs;
use crate::error::CliError;
use crate::limits::Limits;
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
        return Err(CliError::usage(format!("archive `{}` is no baseline for plugin `{plugin}`", archive.display()))
            .hint(format!("it has the plugins `{}`", known.join("`, `"))));
    }
    let root = trees.item(plugin).map_err(|error| error.hint("a baseline needs that tree: name another archive"))?;
    let baseline = Baseline::of_tree(&root, archive).map_err(|error| {
        CliError::usage(format!("archive `{}` cannot be the baseline", archive.display())).because(&error)
    });
    root.dismantle();
    baseline
}

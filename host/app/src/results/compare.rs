//! Compares the results of two runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::open_input;
use crate::context::Context;
use crate::difference::{self, Difference, Tests};
use crate::error::AppError;
use crate::limits::Limits;
use crate::trees::{Reprocess, Trees};

/// Which runs are compared.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// The earlier archive, or a directory with archives.
    pub before: PathBuf,
    /// The later archive, or a directory with archives.
    pub after: PathBuf,
    /// The plugin to compare. By default, every plugin of both.
    pub plugin: Option<String>,
    /// The file with limits.
    pub limits: Option<PathBuf>,
}

/// The differences between two runs.
pub struct Comparison {
    /// The tests that changed.
    pub difference: Difference,
    /// Plugins without a test that ran in the later run, so that nothing can be said about them.
    pub silent: Vec<String>,
}

/// Compares two runs. Plugins that only one has are reported.
///
/// # Errors
/// An archive cannot be read, or there is no plugin to compare.
pub fn compare(context: &Context, options: &CompareOptions) -> Result<Comparison, AppError> {
    let open = |path: &Path| {
        let reprocess = Reprocess { limits: Limits::load(options.limits.as_deref())?, ..Reprocess::default() };
        open_input(context, path, reprocess, None)
    };
    let (mut before, mut after) = (open(&options.before)?, open(&options.after)?);
    let plugins = plugins(context, options, &before.trees, &after.trees)?;
    let (earlier, later) = (tests(&mut before.trees, &plugins)?, tests(&mut after.trees, &plugins)?);
    let silent = silent_plugins(&plugins, &earlier, &later).into_iter().cloned().collect();
    Ok(Comparison { difference: difference::compare(&earlier, &later), silent })
}

/// The plugins to compare: the one of the options, or all that both runs have.
fn plugins(
    context: &Context,
    options: &CompareOptions,
    before: &Trees,
    after: &Trees,
) -> Result<Vec<String>, AppError> {
    let archives = [(&options.before, before.plugins()), (&options.after, after.plugins())];
    if let Some(plugin) = &options.plugin {
        for (path, plugins) in &archives {
            if !plugins.contains(plugin) {
                return Err(AppError::usage(format!("archive `{}` has no plugin `{plugin}`", path.display()))
                    .hint(format!("it has `{}`", plugins.join("`, `"))));
            }
        }
        return Ok(vec![plugin.clone()]);
    }
    let [(_, first), (_, second)] = &archives;
    let (first, second): (BTreeSet<&String>, BTreeSet<&String>) = (first.iter().collect(), second.iter().collect());
    for (plugins, others, path) in [(&first, &second, &options.before), (&second, &first, &options.after)] {
        for plugin in plugins.difference(others) {
            context
                .reporter
                .warning(&format!("only archive `{}` has plugin `{plugin}`: it is not compared", path.display()));
        }
    }
    let both: Vec<String> = first.intersection(&second).map(|plugin| (*plugin).clone()).collect();
    if both.is_empty() {
        return Err(AppError::usage("the two archives have no plugin in common: there is nothing to compare"));
    }
    Ok(both)
}

/// The plugins without a test that ran in the later run, although one ran in the earlier run, or
/// although no test of any plugin ran.
fn silent_plugins<'a>(plugins: &'a [String], earlier: &Tests, later: &Tests) -> Vec<&'a String> {
    let ran = |tests: &Tests, plugin: &String| tests.iter().any(|(key, test)| key.plugin == *plugin && test.ran());
    let none_at_all = !plugins.iter().any(|plugin| ran(later, plugin));
    plugins.iter().filter(|plugin| !ran(later, plugin) && (none_at_all || ran(earlier, plugin))).collect()
}

/// The tests of these plugins. At most one tree is in memory.
fn tests(trees: &mut Trees, plugins: &[String]) -> Result<Tests, AppError> {
    let mut tests = Tests::new();
    for plugin in plugins {
        let root = trees.item(plugin)?;
        difference::add(&mut tests, plugin, &root);
        root.dismantle();
    }
    Ok(tests)
}

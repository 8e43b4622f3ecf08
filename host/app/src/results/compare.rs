//! Compares the runs in archives.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::context::Context;
use crate::difference::{self, Difference, Matrix, Tests};
use crate::error::{AppError, CHECK_FILE, Explain as _};
use crate::modules::LimitsFile;
use crate::results::input::open_input;
use crate::trees::{Reprocess, Trees};

/// The most runs that are compared at once. Their tests are in memory.
const MAX_COMPARED: usize = 50;

/// The differences between runs.
pub struct Comparison {
    /// The tests that changed between the last two runs.
    pub difference: Difference,
    /// The tests of all runs, if there are more than two.
    pub matrix: Option<Matrix>,
    /// Plugins without a test that ran in the last run, so that nothing can be said about them.
    pub silent: Vec<String>,
}

/// Compares the runs in two or more archives, or directories with archives, the earliest run first:
/// one plugin, or every plugin of any of them. Plugins that only some of them have are reported.
/// Their tests did not run in the others.
pub fn compare(
    context: &Context,
    paths: &[PathBuf],
    plugin: Option<&String>,
    limits: &LimitsFile,
) -> Result<Comparison, AppError> {
    if paths.len() > MAX_COMPARED {
        return Err(AppError::usage(format!("more than {MAX_COMPARED} archives to compare"))
            .hint("follow tests over many runs with `plumbline history`"));
    }
    let mut inputs = Vec::new();
    for path in paths {
        let reprocess = Reprocess { limits: limits.load()?, ..Reprocess::default() };
        inputs.push(open_input(context, path, reprocess, None)?);
    }
    let plugins = plugins(context, paths, plugin, &inputs)?;
    must_differ(paths, &inputs)?;
    let mut runs = Vec::new();
    for trees in &mut inputs {
        runs.push((trees.name().to_owned(), tests(trees, &plugins)?));
    }
    let [.., (_, before), (_, after)] = runs.as_slice() else {
        return Err(AppError::usage("nothing to compare: pass two archives or more"));
    };
    let silent = silent_plugins(&plugins, before, after).into_iter().cloned().collect();
    match runs.len() {
        2 => Ok(Comparison { difference: difference::compare(before, after), matrix: None, silent }),
        _ => {
            let matrix = difference::matrix(&runs);
            Ok(Comparison { difference: matrix.last.clone(), matrix: Some(matrix), silent })
        }
    }
}

/// Rejects a comparison of a run with itself, in which nothing can be worse: the same file, a copy, or
/// another archive of the run. The last two runs decide.
fn must_differ(paths: &[PathBuf], inputs: &[Trees]) -> Result<(), AppError> {
    let ([.., before, after], [.., earlier, later]) = (paths, inputs) else { return Ok(()) };
    // A file of results is in a temporary archive of its own.
    let is_file = before.canonicalize().is_ok_and(|path| after.canonicalize().is_ok_and(|other| path == other));
    if is_file || later.is_of_same_run(earlier).usage_error("failed to compare the archives").hint(CHECK_FILE)? {
        let (before, after) = (before.display(), after.display());
        return Err(AppError::usage(format!("nothing to compare: `{before}` and `{after}` are of the same run"))
            .hint("pass the archives of two runs"));
    }
    Ok(())
}

/// The plugins to compare: the one that is given, or all of all runs.
fn plugins(
    context: &Context,
    paths: &[PathBuf],
    plugin: Option<&String>,
    inputs: &[Trees],
) -> Result<Vec<String>, AppError> {
    let archives: Vec<(&PathBuf, Vec<String>)> =
        paths.iter().zip(inputs).map(|(path, trees)| (path, trees.plugins())).collect();
    if let Some(plugin) = plugin {
        for (path, plugins) in &archives {
            if !plugins.contains(plugin) {
                return Err(AppError::usage(format!("archive `{}` has no plugin `{plugin}`", path.display()))
                    .hint(format!("it has `{}`", plugins.join("`, `"))));
            }
        }
        return Ok(vec![plugin.clone()]);
    }
    let in_all = |plugin: &String| archives.iter().all(|(_, plugins)| plugins.contains(plugin));
    for (path, plugins) in &archives {
        for plugin in plugins.iter().filter(|plugin| !in_all(plugin)) {
            let (path, several) = (path.display(), archives.len() > 2);
            context.reporter.warning(&match several {
                false => format!("only archive `{path}` has plugin `{plugin}`: its tests did not run in the other"),
                true => format!("archive `{path}` has plugin `{plugin}`, but not every archive does: its tests did not run in the others"),
            });
        }
    }
    let all: BTreeSet<&String> = archives.iter().flat_map(|(_, plugins)| plugins).collect();
    if !all.iter().any(|plugin| in_all(plugin)) {
        return Err(AppError::usage("nothing to compare: the archives have no plugin in common")
            .hint("compare archives of runs with the same plugins"));
    }
    Ok(all.into_iter().cloned().collect())
}

/// The plugins without a test that ran in the later run, although one ran in the earlier run, or
/// although no test of any plugin ran.
fn silent_plugins<'a>(plugins: &'a [String], earlier: &Tests, later: &Tests) -> Vec<&'a String> {
    let ran = |tests: &Tests, plugin: &String| tests.iter().any(|(key, test)| key.plugin == *plugin && test.ran());
    let none_at_all = !plugins.iter().any(|plugin| ran(later, plugin));
    plugins.iter().filter(|plugin| !ran(later, plugin) && (none_at_all || ran(earlier, plugin))).collect()
}

/// The tests of these plugins, as far as the run has them. At most one tree is in memory.
pub(super) fn tests(trees: &mut Trees, plugins: &[String]) -> Result<Tests, AppError> {
    let mut tests = Tests::new();
    let present = trees.plugins();
    for plugin in plugins.iter().filter(|plugin| present.contains(plugin)) {
        let root = trees.judged_item(plugin)?;
        difference::add(&mut tests, plugin, &root);
        root.dismantle();
    }
    Ok(tests)
}

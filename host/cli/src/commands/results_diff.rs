//! `plumbline results diff`

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::difference::{self, Tests, compare};
use plumbline_app::limits::Limits;
use plumbline_app::report::{diff_markdown, diff_text, print_json};
use plumbline_app::trees::{Reprocess, Trees};
use plumbline_core::{Verdict, shell_path, shell_quote};

use super::results_input;
use crate::args::RegistryArgs;
use crate::args::{DiffArgs, DiffFormat, ExitCodes, Global};
use crate::context::context;
use crate::error::FAILED;
use crate::ui::say;

/// Compares two runs: 1 if something fails in the later one that did not in the earlier, 5 if nothing of a plugin ran there, 0 otherwise.
pub(super) fn diff(args: &DiffArgs, global: &Global) -> Result<ExitCode, AppError> {
    let open = |path: &Path| {
        let reprocess = Reprocess { limits: Limits::load(args.limits.file.as_deref())?, ..Reprocess::default() };
        results_input::open(&context(&RegistryArgs::default()), path, reprocess, None)
    };
    let (mut before, mut after) = (open(&args.before)?, open(&args.after)?);
    let plugins = plugins(args, &before.trees, &after.trees)?;
    let (earlier, later) = (tests(&mut before.trees, &plugins)?, tests(&mut after.trees, &plugins)?);
    let found = compare(&earlier, &later);
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = match args.format {
        DiffFormat::Text => diff_text(&found, &mut out),
        DiffFormat::Json => print_json(&found, &mut out),
        DiffFormat::Markdown => diff_markdown(&found, &mut out),
    };
    printed
        .and_then(|()| out.flush())
        .map_err(|error| AppError::printing("failed to print the differences", &error))?;
    // No failure is new where nothing ran, and that is no good news.
    let quiet = silent(&plugins, &earlier, &later);
    for plugin in &quiet {
        say(&format!(
            "warning: no test of plugin `{plugin}` is known to have run in `{}`: `plumbline results {} --plugin {}` shows what is in it",
            args.after.display(),
            shell_path(&args.after),
            shell_quote(plugin)
        ));
    }
    Ok(match global.exit_code {
        ExitCodes::Strict if !found.new_failures.is_empty() => ExitCode::from(FAILED),
        ExitCodes::Strict if !quiet.is_empty() => ExitCode::from(Verdict::NothingToJudge.exit_code()),
        _ => ExitCode::SUCCESS,
    })
}

/// What is compared: the plugin that was named, or all that both have.
fn plugins(args: &DiffArgs, before: &Trees, after: &Trees) -> Result<Vec<String>, AppError> {
    let archives = [(&args.before, before.plugins()), (&args.after, after.plugins())];
    if let Some(plugin) = &args.plugin {
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
    for (plugins, others, path) in [(&first, &second, &args.before), (&second, &first, &args.after)] {
        for plugin in plugins.difference(others) {
            say(&format!("warning: only archive `{}` has plugin `{plugin}`: it is not compared", path.display()));
        }
    }
    let both: Vec<String> = first.intersection(&second).map(|plugin| (*plugin).clone()).collect();
    if both.is_empty() {
        return Err(AppError::usage("the two archives have no plugin in common: there is nothing to compare"));
    }
    Ok(both)
}

/// The plugins of which nothing ran in the later run, although something did in the earlier, or nothing ran in either.
fn silent<'a>(plugins: &'a [String], earlier: &Tests, later: &Tests) -> Vec<&'a String> {
    let ran = |tests: &Tests, plugin: &String| tests.iter().any(|(key, test)| key.plugin == *plugin && test.ran());
    let none_at_all = !plugins.iter().any(|plugin| ran(later, plugin));
    plugins.iter().filter(|plugin| !ran(later, plugin) && (none_at_all || ran(earlier, plugin))).collect()
}

/// The tests of these plugins. One tree is held at a time.
fn tests(trees: &mut Trees, plugins: &[String]) -> Result<Tests, AppError> {
    let mut tests = Tests::new();
    for plugin in plugins {
        let root = trees.item(plugin)?;
        difference::add(&mut tests, plugin, &root);
        root.dismantle();
    }
    Ok(tests)
}

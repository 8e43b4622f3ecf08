//! Runs a case of judges: the input is a finished tree, the output is the verdict of the
//! definition's chain.

use std::fs;
use std::path::Path;
use std::time::Instant;

use jiff::civil::Date;
use plumbline_aggregator::{Judged, PlannedPlugin, judge_measured, keep_tree, result_sets};
use plumbline_core::Item;
use plumbline_core::definition::Definition;
use plumbline_core::judgement::PluginVerdict;
use plumbline_sandbox::PluginInfo;
use serde_json::{Map, Value};

use super::case::{ARCHIVE, Case, EXCLUSIVE, TREE};
use super::output::{Actual, MAX_TREE, ended, nothing_local, scratch};
use super::project::read;

/// The day that judges see, unless the case sets another one. With the real day, a case with an
/// entry that expires would suddenly fail.
const DAY: Date = Date::constant(2000, 1, 1);

/// Applies the options of a case, which override those of the named judges in the chain. The error
/// is a sentence.
pub(super) fn apply(options: Map<String, Value>, definition: &mut Definition) -> Result<(), String> {
    let chain = &mut definition.plumbline.verdict;
    for (name, options) in options {
        let Value::Object(options) = options else {
            return Err(format!("`{name}`: the options of a judge are a mapping"));
        };
        let mut entries = chain.iter_mut().filter(|entry| entry.judge == name).peekable();
        if entries.peek().is_none() {
            return Err(format!("`{name}` is not a judge of the chain: options of judges stand below their names"));
        }
        entries.for_each(|entry| entry.options.extend(options.clone()));
    }
    Ok(())
}

/// Runs the chain on the tree of `case`. The error is a sentence.
pub(super) fn verdict(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
    if let Some(other) = EXCLUSIVE.iter().find(|name| case.dir.join(name).exists()) {
        return Err(format!("it has `{TREE}` and `{other}`: make two cases of them"));
    }
    let definition = &planned.source.definition;
    if planned.judges.is_empty() {
        return Err(format!(
            "it has `{TREE}`, and nobody judges: the definition names no judge in `plumbline.verdict`"
        ));
    }
    let root = tree(&case.dir.join(TREE))?;
    let scratch = scratch()?;
    let failed = |error: &dyn std::fmt::Display| format!("its tree cannot be kept for the judges: {error}");
    let (items, mut archive) = (scratch.path().join("items"), case.dir.join(ARCHIVE));
    if !archive.exists() {
        archive = scratch.path().join(ARCHIVE);
        fs::create_dir(&archive).map_err(|error| failed(&error))?;
    }
    keep_tree(&root, &items).map_err(|error| failed(&error))?;
    let plugin = PluginInfo { expected_results: result_sets(&root), ..planned.info() };
    root.dismantle();
    let judged = Judged { plugin: &plugin, items: &items, root: &archive, data: &definition.config_map, day: DAY };
    let start = Instant::now();
    let (verdict, usage) = judge_measured(&planned.judges, judged).map_err(|error| error.to_string())?;
    let wall = start.elapsed();
    let text = text(verdict)?;
    nothing_local(&text, "its verdict", &[scratch.path(), &case.dir])?;
    Ok(Actual::new(text, wall, usage))
}

fn tree(path: &Path) -> Result<Item, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("`{}` cannot be used: {error}", path.display());
    let bytes = read(path, MAX_TREE).map_err(|error| wrong(&error))?;
    if bytes.len() as u64 > MAX_TREE {
        return Err(wrong(&format_args!("it is larger than {} MiB", MAX_TREE >> 20)));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(&error))?;
    Item::parse(text).map_err(|error| wrong(&error))
}

/// Returns the verdict as it would be in the archive, as YAML. The digests of modules are left out,
/// because they change with every build.
fn text(mut verdict: PluginVerdict) -> Result<String, String> {
    verdict.chain.iter_mut().for_each(|judge| judge.digest.clear());
    serde_saphyr::to_string(&verdict).map(ended).map_err(|error| error.to_string())
}

//! The chain of judges: each judge in turn, and then the rules.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use plumbline_core::judgement::{Check, JudgeRecord, Judging, Leaf, PluginVerdict};
use plumbline_sandbox::{Judge, ModuleFailure, PluginInfo};
use serde_json::Value;

use super::evidence::evidence;
use super::kept::KeptItems;
use super::plan::{PlannedJudge, tell_the_day};
use super::said::{JudgeOutput, JudgeTree, Rulings};
use crate::postprocess::{RunLog, Usage, is_of_data};

/// Input of a chain of judges.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The plugin. Each judge gets its own options and name.
    pub plugin: &'a PluginInfo,
    /// File with the items of the plugin's tree ([`keep_tree`](super::keep_tree)).
    pub items: &'a Path,
    /// Directory with the content of the archive. Judges can read only the files that their
    /// evidence patterns match.
    pub root: &'a Path,
    /// The `config-map` of the definition.
    pub data: &'a BTreeMap<String, String>,
    /// The day that judges get, which is the start of the run in UTC. It is the same whenever the
    /// run is judged, even after a restart past midnight, or years later.
    pub day: Date,
}

/// Error while judging. Errors of a judge are part of the verdict instead.
#[derive(Debug, thiserror::Error)]
#[error("failed to judge plugin `{plugin}`: {source}")]
pub struct JudgeError {
    /// Name of the plugin.
    plugin: String,
    /// The underlying I/O error.
    source: io::Error,
}

/// Runs `judges` in order on a plugin's results, and applies the rules. Blocking. If a judge fails,
/// the error is recorded, its rulings so far count, and the chain continues.
///
/// # Errors
/// Only when this machine fails.
pub fn judge_plugin(judges: &[PlannedJudge], judged: Judged<'_>) -> Result<PluginVerdict, JudgeError> {
    judge_measured(judges, judged).map(|(verdict, _)| verdict)
}

/// Runs a chain like [`judge_plugin`], and also returns what the judges used and why calls were
/// ended. A verdict only says that a judge did not finish.
///
/// # Errors
/// Same as [`judge_plugin`].
pub fn judge_measured(judges: &[PlannedJudge], judged: Judged<'_>) -> Result<(PluginVerdict, Usage), JudgeError> {
    let mut usage = Usage::default();
    match chain(judges, judged, &mut usage) {
        Ok(verdict) => Ok((verdict, usage)),
        Err(source) => Err(JudgeError { plugin: judged.plugin.name.clone(), source }),
    }
}

fn chain(judges: &[PlannedJudge], judged: Judged<'_>, usage: &mut Usage) -> io::Result<PluginVerdict> {
    let mut judging = Judging::new(&judged.plugin.name);
    let mut rulings = Arc::new(Rulings::new());
    let mut checks: Vec<(usize, Check)> = Vec::new();
    let mut bytes = 0_usize;
    for (at, judge) in judges.iter().enumerate() {
        let mut said = JudgeOutput::new(at, &rulings, bytes, checks.len());
        let error = one(judge, judged, &rulings, &mut said, usage)?;
        if let Some(error) = &said.too_much {
            usage.broke(error.clone());
        }
        let error = error.or_else(|| said.too_much.take());
        if let Some(error) = &error {
            tracing::warn!(plugin = judged.plugin.name, judge = judge.entry.judge, "failed to judge: {error}");
        }
        bytes = bytes.saturating_add(said.settle(Arc::make_mut(&mut rulings)));
        checks.extend(std::mem::take(&mut said.checks).into_iter().map(|check| (at, check)));
        let digest = format!("sha256:{}", judge.module.info().digest);
        judging.judge(JudgeRecord { judge: judge.entry.judge.clone(), digest, error });
    }
    let name = |at: usize| judges.get(at).map_or("", |judge| judge.entry.judge.as_str());
    for (at, check) in checks {
        judging.check(name(at), check);
    }
    leaves(judged.items, &rulings, name, &mut judging)?;
    Ok(judging.finish())
}

/// Calls one judge. Returns the reason if it could not finish.
fn one(
    judge: &PlannedJudge,
    judged: Judged<'_>,
    rulings: &Arc<Rulings>,
    said: &mut JudgeOutput,
    usage: &mut Usage,
) -> io::Result<Option<String>> {
    let mut cannot = |why: String| {
        usage.broke(why.clone());
        Ok(Some(why))
    };
    let module = match judge.module.wait() {
        Ok(module) => module,
        Err(error) => return cannot(error.to_string()),
    };
    let evidence = match evidence(judge, judged.data, judged.root) {
        Ok(evidence) => evidence,
        Err(sentence) => return cannot(sentence),
    };
    let mut options = judge.entry.options.clone();
    if judge.told_the_day {
        tell_the_day(&mut options, judged.day);
    }
    let plugin =
        PluginInfo { format: judge.entry.judge.clone(), options: Value::Object(options), ..judged.plugin.clone() };
    let tree = JudgeTree { items: KeptItems::open(judged.items)?, rulings: Arc::clone(rulings), index: 0 };
    let call = Judge { plugin: &plugin, tree: Box::new(tree), evidence, limits: &judge.limits };
    let mut log = RunLog::new(&judged.plugin.name, &judge.entry.judge);
    let ended = module.judge(call, said, &mut log).map_err(|failure| log.explain(failure));
    usage.count(&ended);
    match ended {
        Ok(_) => Ok(None),
        Err(ModuleFailure::Host(error)) if !is_of_data(&error) => Err(error),
        Err(failure) => Ok(Some(failure.to_string())),
    }
}

/// Adds every leaf, with the last ruling about it.
fn leaves<'a>(
    items: &Path,
    rulings: &Rulings,
    name: impl Fn(usize) -> &'a str,
    judging: &mut Judging,
) -> io::Result<()> {
    let mut items = KeptItems::open(items)?;
    let mut path: Vec<String> = Vec::new();
    let mut index = 0_u64;
    while let Some(kept) = items.next()? {
        let status = kept.item.status.unwrap_or_default();
        if kept.node {
            // The outcome of a node without any item is unknown.
            if kept.leaf {
                judging.leaf(Leaf { set: &kept.set, path: &[], status: &status, ruling: None });
            }
            continue;
        }
        path.truncate(kept.item.depth as usize);
        path.push(kept.item.name);
        if kept.leaf {
            let ruling = rulings.get(&index).map(|(ruling, judge)| (ruling, name(*judge)));
            judging.leaf(Leaf { set: &kept.set, path: &path, status: &status, ruling });
        }
        index += 1;
    }
    Ok(())
}

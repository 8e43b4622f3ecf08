//! The chain: one judge after the other, then the rules.

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
use super::said::{JudgeTree, Rulings, Said};
use crate::postprocess::{RunLog, Usage, is_of_data};

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The plugin; each judge is told its own options and name.
    pub plugin: &'a PluginInfo,
    /// The file with the items of its tree ([`keep_tree`](super::keep_tree)).
    pub items: &'a Path,
    /// The directory with the content of the archive; only what patterns of evidence match is read.
    pub root: &'a Path,
    /// The definition's `config-map`.
    pub data: &'a BTreeMap<String, String>,
    /// The day that judges are told: that on which the run began, in UTC. It is the same whenever the run is judged, also by an aggregator that was
    /// restarted after midnight, and years later.
    pub day: Date,
}

/// Why there is no verdict. What is wrong with a judge is no error: it stands in the verdict.
#[derive(Debug, thiserror::Error)]
#[error("failed to judge plugin `{plugin}`: {source}")]
pub struct JudgeError {
    /// The plugin.
    plugin: String,
    /// The cause.
    source: io::Error,
}

/// Has `judges` judge a plugin, in their order, and applies the rules. Blocking. A judge that fails is recorded, what it said until then
/// counts, and the chain goes on.
///
/// # Errors
/// Only for failures of this machine.
pub fn judge_plugin(judges: &[PlannedJudge], judged: Judged<'_>) -> Result<PluginVerdict, JudgeError> {
    judge_measured(judges, judged).map(|(verdict, _)| verdict)
}

/// As [`judge_plugin`], with what the judges used, and why they had to be ended: a verdict says only that they did not finish.
///
/// # Errors
/// As [`judge_plugin`].
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
        let mut said = Said::new(at, &rulings, bytes, checks.len());
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

/// Calls one judge; `Some` is why it could not finish.
fn one(
    judge: &PlannedJudge,
    judged: Judged<'_>,
    rulings: &Arc<Rulings>,
    said: &mut Said,
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

/// Every leaf, with what was said of it last.
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
            // A node without any item: nobody can say how it came out.
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

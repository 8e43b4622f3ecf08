//! The chain of judges: each judge in turn, with the rulings of earlier ones, and then the rules.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use plumbline_core::judgement::{Check, JudgeRecord, Judging, Leaf, PluginVerdict, Ruling};
use plumbline_core::rollup::is_failure;
use plumbline_sandbox::{Entry, Judge, ModuleFailure, PluginInfo, RulingSink, TreeItem, TreeSource};
use serde_json::Value;

use super::items::{StoredItem, StoredItems};
use super::plan::{PlannedJudge, set_today};
use crate::causes::{CAUSE, CauseError, failed_leaf};
use crate::postprocess::{RunLog, Usage, is_of_data};

/// Maximum number of items that the judges of a chain may rule on. No suite has as many tests.
const MAX_RULINGS: usize = 1_000_000;
/// Maximum size of the strings of all rulings of a chain: 256 MiB. They are held in memory, because
/// every judge sees earlier rulings.
const MAX_RULING_BYTES: usize = 256 << 20;
/// Maximum number of checks in a chain. Users cannot read more.
const MAX_CHECKS: usize = 1_000;

/// Input of a chain of judges.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The plugin. Each judge gets its own options and name.
    pub plugin: &'a PluginInfo,
    /// File with the items of the plugin's tree ([`keep_tree`](super::keep_tree)).
    pub items: &'a Path,
    /// Directory with the content of the archive. Judges read only what their patterns match.
    pub root: &'a Path,
    /// The `config-map` of the definition.
    pub data: &'a BTreeMap<String, String>,
    /// The start of the run in UTC, for every judge, however late the run is judged.
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
/// Also returns what the judges used, and why calls were ended.
///
/// # Errors
/// Only when this machine fails.
pub fn judge_plugin(judges: &[PlannedJudge], judged: Judged<'_>) -> Result<(PluginVerdict, Usage), JudgeError> {
    chain(judges, judged).map_err(|source| JudgeError { plugin: judged.plugin.name.clone(), source })
}

fn chain(judges: &[PlannedJudge], judged: Judged<'_>) -> io::Result<(PluginVerdict, Usage)> {
    let mut usage = Usage::default();
    let mut judging = Judging::new(&judged.plugin.name);
    let mut output = ChainOutput { causes: Arc::new(causes(judges, judged)?), ..ChainOutput::default() };
    for (at, judge) in judges.iter().enumerate() {
        output.judge = at;
        let error = call(judge, judged, &mut output, &mut usage)?;
        let exceeded = output.exceeded.take();
        if let Some(error) = &exceeded {
            usage.broke(error.clone());
        }
        let error = error.or(exceeded);
        if let Some(error) = &error {
            tracing::warn!(plugin = judged.plugin.name, judge = judge.entry.judge, "failed to judge: {error}");
        }
        let new = std::mem::take(&mut output.new_rulings).into_iter();
        Arc::make_mut(&mut output.rulings).extend(new.map(|(index, ruling)| (index, (ruling, at))));
        let digest = format!("sha256:{}", judge.module.info().digest);
        judging.judge(JudgeRecord { judge: judge.entry.judge.clone(), digest, error });
    }
    let name = |at: usize| judges.get(at).map_or("", |judge| judge.entry.judge.as_str());
    for (at, check) in output.checks {
        judging.check(name(at), check);
    }
    leaves(judged.items, &output.rulings, name, &mut judging)?;
    Ok((judging.finish(), usage))
}

/// Calls one judge. Returns the reason if it could not finish.
fn call(
    judge: &PlannedJudge,
    judged: Judged<'_>,
    output: &mut ChainOutput,
    usage: &mut Usage,
) -> io::Result<Option<String>> {
    let ready = judge.module.wait().map_err(|error| error.to_string());
    let ready = ready.and_then(|module| Ok((module, judge.evidence(judged.data, judged.root)?)));
    let (module, evidence) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            usage.broke(reason.clone());
            return Ok(Some(reason));
        }
    };
    let mut options = judge.entry.options.clone();
    if judge.sets_today {
        set_today(&mut options, judged.day);
    }
    let plugin =
        PluginInfo { format: judge.entry.judge.clone(), options: Value::Object(options), ..judged.plugin.clone() };
    let tree = JudgeTree {
        items: StoredItems::open(judged.items)?,
        rulings: Arc::clone(&output.rulings),
        causes: Arc::clone(&output.causes),
        index: 0,
        failures: 0,
    };
    let call = Judge { plugin: &plugin, tree: Box::new(tree), evidence, limits: &judge.limits };
    let mut log = RunLog::new(&judged.plugin.name, &judge.entry.judge);
    let ended = module.judge(call, output, &mut log).map_err(|failure| log.explain(failure));
    usage.count(&ended);
    match ended {
        Ok(_) => Ok(None),
        Err(ModuleFailure::Host(error)) if !is_of_data(&error) => Err(error),
        Err(failure) => Ok(Some(failure.to_string())),
    }
}

/// Returns the ids of causes, by number of the failure. A module that fails is only logged.
fn causes(judges: &[PlannedJudge], judged: Judged<'_>) -> io::Result<Causes> {
    let Some(finder) = judges.first().and_then(|judge| judge.causes.as_ref()) else { return Ok(Causes::new()) };
    let mut failures = FailedLeaves(StoredItems::open(judged.items)?).peekable();
    if failures.peek().is_none() {
        return Ok(Causes::new());
    }
    // The options in the definition are not for this module.
    let plugin = PluginInfo { options: Value::Null, ..judged.plugin.clone() };
    let groups = match finder.find(&plugin, failures) {
        Ok(groups) => groups,
        Err(CauseError::Call(ModuleFailure::Host(error))) if !is_of_data(&error) => return Err(error),
        Err(error) => {
            tracing::warn!(plugin = judged.plugin.name, "failed to find the causes of failures: {error}");
            return Ok(Causes::new());
        }
    };
    let mut causes = Causes::new();
    for group in groups {
        let id: Arc<str> = group.id.into();
        for failure in group.failures {
            causes.entry(failure).or_insert_with(|| Arc::clone(&id));
        }
    }
    Ok(causes)
}

struct FailedLeaves(StoredItems);

impl Iterator for FailedLeaves {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next().transpose()? {
                Ok(kept) if has_failed(&kept) => {
                    let StoredItem { set, item, .. } = kept;
                    let status = item.status.unwrap_or_default();
                    return Some(Ok(failed_leaf(&set, &item.name, &status, &item.meta, &item.details)));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn has_failed(kept: &StoredItem) -> bool {
    kept.leaf && !kept.node && kept.item.status.as_ref().is_some_and(is_failure)
}

/// Adds every leaf, with the last ruling about it.
fn leaves<'a>(
    items: &Path,
    rulings: &Rulings,
    name: impl Fn(usize) -> &'a str,
    judging: &mut Judging,
) -> io::Result<()> {
    let mut items = StoredItems::open(items)?;
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

/// Ids of causes by the number of the failed leaf.
type Causes = HashMap<usize, Arc<str>>;

/// Rulings by item number, each with the number of its judge in the chain.
type Rulings = BTreeMap<u64, (Ruling, usize)>;

/// Rulings and checks of a chain.
#[derive(Default)]
struct ChainOutput {
    /// Number of the current judge.
    judge: usize,
    /// Causes of failures.
    causes: Arc<Causes>,
    /// Rulings of earlier judges.
    rulings: Arc<Rulings>,
    /// Rulings of the current judge.
    new_rulings: BTreeMap<u64, Ruling>,
    /// Size of the strings of all rulings in bytes.
    bytes: usize,
    /// Checks, each with the number of its judge.
    checks: Vec<(usize, Check)>,
    /// The first limit that the current judge exceeded.
    exceeded: Option<String>,
}

impl RulingSink for ChainOutput {
    fn ruling(&mut self, index: u64, ruling: Ruling) -> io::Result<()> {
        let texts = ruling.class.len() + ruling.reason.len() + ruling.source.len();
        let bytes = self.bytes.saturating_add(texts);
        if self.rulings.len() + self.new_rulings.len() >= MAX_RULINGS {
            self.exceeded.get_or_insert_with(|| format!("the judges ruled on more than {MAX_RULINGS} items"));
        } else if bytes > MAX_RULING_BYTES {
            self.exceeded.get_or_insert_with(|| {
                format!("the strings of all rulings have more than {} MiB", MAX_RULING_BYTES >> 20)
            });
        } else {
            self.bytes = bytes;
            self.new_rulings.insert(index, ruling);
        }
        Ok(())
    }

    fn check(&mut self, check: Check) -> io::Result<()> {
        if self.checks.len() >= MAX_CHECKS {
            self.exceeded.get_or_insert_with(|| format!("the judges reported more than {MAX_CHECKS} checks"));
        } else {
            self.checks.push((self.judge, check));
        }
        Ok(())
    }
}

struct JudgeTree {
    items: StoredItems,
    rulings: Arc<Rulings>,
    causes: Arc<Causes>,
    index: u64,
    /// Number of failed leaves so far.
    failures: usize,
}

impl TreeSource for JudgeTree {
    fn next(&mut self) -> io::Result<Option<TreeItem>> {
        while let Some(mut kept) = self.items.next()? {
            if kept.node {
                continue;
            }
            if has_failed(&kept) {
                if let Some(cause) = self.causes.get(&self.failures) {
                    kept.item.meta.insert(CAUSE.to_owned(), cause.to_string());
                }
                self.failures += 1;
            }
            let ruling = self.rulings.get(&self.index).map(|(ruling, _)| ruling.clone());
            self.index += 1;
            return Ok(Some(TreeItem { set: kept.set, item: kept.item, leaf: kept.leaf, ruling }));
        }
        Ok(None)
    }
}

//! The verdict over a plugin of an archive: as the archive holds it, or judged again.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use plumbline_aggregator::{
    Judged, MAX_EVIDENCE_FILES, PlannedJudge, Source, evidence_patterns, judge_plugin, keep_tree, plan_judges,
    result_sets,
};
use plumbline_archive::layout::{PLUGINS_DIR, VERDICT_FILE, parse_archive_name};
use plumbline_conformance::chain::Chain;
use plumbline_core::Status;
use plumbline_core::judgement::{JudgeRecord, PluginVerdict, VERDICT_VERSION, VerdictStatus};
use plumbline_core::rollup::{is_failure, worst};
use plumbline_sandbox::PluginInfo;
use serde_json::Value;

use crate::error::{AppError, Explain as _};
use crate::report::text::one_line;
use crate::trees::{TreeFacts, Trees};

/// The largest verdict, in bytes.
const MAX_VERDICT: u64 = 512 << 20;
/// The bytes of evidence that are extracted for a plugin: as many as a call of a module may read by
/// default.
const MAX_EVIDENCE: u64 = 4 << 30;

impl Trees {
    /// The verdict over `plugin`: judged again if results are processed again or `more` judges are
    /// given, or else that of the archive. `None` if the plugin has no judges.
    pub fn verdict(&mut self, plugin: &str, more: &Chain) -> Result<Option<PluginVerdict>, AppError> {
        if !self.reprocess.always && more.is_empty() {
            return self.written_verdict(plugin);
        }
        let mut source = self.source(plugin)?;
        let definition = Arc::make_mut(&mut source.definition);
        more.apply(definition)
            .usage_error(format_args!("failed to judge plugin `{plugin}`"))
            .hint("see docs/judges.md for the format of lists and checks")?;
        if definition.plumbline.verdict.is_empty() {
            return Ok(None);
        }
        self.judge_with(plugin, &source).map(Some)
    }

    fn written_verdict(&mut self, plugin: &str) -> Result<Option<PluginVerdict>, AppError> {
        let member = format!("{PLUGINS_DIR}/{plugin}/{VERDICT_FILE}");
        if self.archive.size(&member).is_none() {
            return Ok(missing_verdict(plugin, self.judges(plugin)?));
        }
        let cannot = |error: &dyn std::error::Error| {
            AppError::usage(format!("failed to read the verdict on plugin `{plugin}` in `{}`", self.name))
                .because(error)
                .hint("judge it again with `--reprocess`")
        };
        let bytes = self.archive.read(&member, MAX_VERDICT).map_err(|error| cannot(&error))?;
        let verdict: PluginVerdict = serde_json::from_slice(&bytes).map_err(|error| cannot(&error))?;
        match inconsistency(plugin, &verdict) {
            Some(reason) => Err(self.inconsistent(plugin, reason)),
            None => Ok(Some(verdict)),
        }
    }

    /// The judges in the archived definition of `plugin`.
    fn judges(&mut self, plugin: &str) -> Result<Vec<String>, AppError> {
        // Only Plumbline has judges. Definitions in archives of other tools may be unreadable.
        if self.archive.info().plumbline_version.is_none() {
            return Ok(Vec::new());
        }
        let Some(document) = self.archived_definition(plugin)? else { return Ok(Vec::new()) };
        let definition = document.get("Definition").unwrap_or(&document);
        let judges = definition.pointer("/plumbline/verdict").and_then(Value::as_array).into_iter().flatten();
        let name = |entry: &Value| entry.get("judge").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(judges.map(name).collect())
    }

    /// The error for a verdict that cannot be that of the results of `plugin`.
    pub(crate) fn inconsistent(&self, plugin: &str, reason: String) -> AppError {
        AppError::usage(format!("inconsistent verdict on plugin `{plugin}` in `{}`", self.name))
            .cause(reason)
            .hint("judge it again with `--reprocess`")
    }

    fn judge_with(&mut self, plugin: &str, source: &Source) -> Result<PluginVerdict, AppError> {
        let cannot = |error: &dyn std::error::Error| {
            AppError::usage(format!("failed to judge plugin `{plugin}`"))
                .because(error)
                .hint("see docs/judges.md for the format of lists and checks")
        };
        let modules = self.modules()?;
        let judges = plan_judges(&modules, &self.reprocess.limits.modules, source).map_err(|error| {
            cannot(&error).hint("the archive does not have judges of the plugin's bundle: pass the bundle's definition with `--reprocess --plugin NAME --definition FILE`")
        })?;
        for judge in &judges {
            judge.module.wait().map_err(|error| cannot(&error))?;
            judge.warnings.iter().for_each(|warning| self.reporter.warning(&format!("plugin `{plugin}`: {warning}")));
        }
        let root = self.judged_item(plugin)?;
        let no_room = |error: io::Error| {
            AppError::system(format!("failed to judge plugin `{plugin}`"))
                .because(&error)
                .hint("check the free disk space for temporary files")
        };
        let scratch = tempfile::tempdir_in(self.scratch()?).map_err(no_room)?;
        let (items, evidence) = (scratch.path().join("items"), scratch.path().join("evidence"));
        keep_tree(&root, &items).map_err(no_room)?;
        let expected_results = result_sets(&root);
        root.dismantle();
        self.extract_evidence(&judges, &evidence)
            .map_err(|error| cannot(error.as_ref()).hint("narrow the patterns of `evidence` in the chain"))?;
        let info = PluginInfo {
            name: plugin.to_owned(),
            driver: source.definition.driver.as_str().to_owned(),
            expected_results,
            ..PluginInfo::default()
        };
        let (data, day) = (&source.definition.config_map, self.day());
        judge_plugin(&judges, Judged { plugin: &info, items: &items, root: &evidence, data, day })
            .map(|(verdict, _)| verdict)
            .system_error(format_args!("failed to judge plugin `{plugin}`"))
    }

    /// The day on which the run started, in UTC, so that expiry dates in lists give the same
    /// verdict whenever the archive is judged. Archives of Sonobuoy have it in their names;
    /// otherwise it is today.
    fn day(&self) -> Date {
        let of = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
        let named = || parse_archive_name(self.path.file_name()?.to_str()?).map(|name| name.started.date());
        self.archive.info().started.map(of).or_else(named).unwrap_or_else(|| of(Timestamp::now()))
    }

    /// Extracts the evidence of the judges. One file more than a judge may have is enough for it to
    /// report that.
    fn extract_evidence(&mut self, judges: &[PlannedJudge], to: &Path) -> Result<(), Box<dyn std::error::Error>> {
        fs::create_dir(to)?;
        let wanted = evidence_patterns(judges);
        let (mut files, mut bytes) = (0_usize, 0_u64);
        let most = MAX_EVIDENCE_FILES.saturating_mul(judges.len()).saturating_add(1);
        self.archive.visit(&mut |name, _| wanted(name), &mut |name, reader| {
            files += 1;
            bytes = bytes.saturating_add(reader.size());
            if files > most {
                return Ok(ControlFlow::Break(()));
            }
            if bytes > MAX_EVIDENCE {
                return Err(io::Error::other(format!("the evidence has more than {} GiB", MAX_EVIDENCE >> 30)));
            }
            // Opening the archive has checked that no name leads out of its root.
            let path = to.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let size = reader.size();
            io::copy(&mut reader.take(size), &mut File::create_new(&path)?)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }
}

/// The verdict on a plugin whose judges left none, because the run was interrupted or the file was
/// removed. The statuses of items must not decide in their place. `None` if there are no judges.
fn missing_verdict(plugin: &str, judges: Vec<String>) -> Option<PluginVerdict> {
    let error = "the archive has no verdict: judge the results with `--reprocess`";
    let record = |judge| JudgeRecord { judge, error: Some(error.to_owned()), ..JudgeRecord::default() };
    let chain: Vec<JudgeRecord> = judges.into_iter().map(record).collect();
    (!chain.is_empty()).then(|| PluginVerdict {
        version: VERDICT_VERSION,
        plugin: plugin.to_owned(),
        chain,
        ..PluginVerdict::default()
    })
}

/// Why a verdict is not about `plugin`, or cannot have passed. Judges write no such verdict, so the
/// file was damaged or edited.
fn inconsistency(plugin: &str, verdict: &PluginVerdict) -> Option<String> {
    let passed = verdict.status == VerdictStatus::Passed;
    if verdict.plugin != plugin && (passed || !verdict.plugin.is_empty()) {
        return Some(format!("it is about plugin `{}`", one_line(&verdict.plugin)));
    }
    if !passed {
        return None;
    }
    let summary = verdict.summary();
    let listed = verdict.items.iter().filter(|item| item.ruling.counts).count() as u64;
    let classes = verdict.classes.values().map(|class| class.counting).max().unwrap_or_default();
    let found = [
        (verdict.counting.max(listed).max(classes), "items that count as failures"),
        (verdict.failures.saturating_sub(verdict.excused), "failures that are not excused"),
        (verdict.unknown, "items of unknown status"),
        (summary.checks_failed, "failed checks"),
        (summary.checks_unknown, "unknown checks"),
        (summary.judges_failed, "judges that did not finish"),
    ];
    let (n, what) = found.into_iter().find(|(n, _)| *n > 0)?;
    Some(format!("its status is `passed`, but it counts {what}: {n}"))
}

/// Why a verdict that passed is not about the tree with these facts: the tree has failures or unknown
/// items that the verdict does not know.
pub(crate) fn contradiction(verdict: &PluginVerdict, facts: &TreeFacts) -> Option<String> {
    if verdict.status != VerdictStatus::Passed {
        return None;
    }
    let failures = facts.count(is_failure);
    if failures > verdict.failures {
        return Some(format!("the tree has failures that it does not count: {}", failures - verdict.failures));
    }
    // A verdict that passed has a ruling on each unknown item.
    let is_unknown = |status: &Status| worst(status) == Some(Status::Unknown);
    let ruled = verdict.items.iter().filter(|item| is_unknown(&item.status)).count() as u64;
    let unknown = facts.count(is_unknown).saturating_sub(ruled.saturating_add(verdict.left_out));
    (unknown > 0).then(|| format!("the tree has unknown items that it does not count: {unknown}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(plugin: &str, changes: Value) -> Option<String> {
        let mut verdict = json!({"version": 1, "plugin": "p", "status": "passed", "failures": 1, "excused": 1});
        verdict.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        inconsistency(plugin, &serde_json::from_value(verdict).unwrap())
    }

    #[test]
    fn a_verdict_that_cannot_have_passed_is_recognized() {
        assert_eq!(of("p", json!({"classes": {"flaky": {"items": 1, "failures": 1}}})), None);
        assert_eq!(of("p", json!({"status": "failed", "counting": 3})), None);
        for (plugin, changes, says) in [
            ("q", json!({}), "about plugin `p`"),
            ("q", json!({"status": "failed"}), "about plugin `p`"),
            ("p", json!({"plugin": ""}), "about plugin ``"),
            ("p", json!({"counting": 3}), "items that count as failures: 3"),
            ("p", json!({"items": [{"class": "x", "counts": true}]}), "items that count as failures: 1"),
            ("p", json!({"classes": {"x": {"items": 2, "counting": 2}}}), "items that count as failures: 2"),
            ("p", json!({"excused": 0}), "failures that are not excused: 1"),
            ("p", json!({"unknown": 4}), "items of unknown status: 4"),
            ("p", json!({"checks": [{"id": "A", "outcome": "failed"}]}), "failed checks: 1"),
            ("p", json!({"checks": [{"id": "A", "outcome": "unknown"}]}), "unknown checks: 1"),
            ("p", json!({"chain": [{"judge": "x", "error": "trap"}]}), "judges that did not finish: 1"),
        ] {
            let reason = of(plugin, changes.clone()).unwrap_or_default();
            assert!(reason.contains(says), "{changes}: {reason}");
        }
    }

    #[test]
    fn a_verdict_that_passed_knows_the_failures_of_its_tree() {
        let item = |status: &str| json!({"name": "a", "status": status});
        let facts = |items: Value| {
            TreeFacts::of(&serde_json::from_value(json!({"name": "p", "status": "failed", "items": items})).unwrap())
        };
        let verdict = |value: Value| serde_json::from_value::<PluginVerdict>(value).unwrap();
        let passed = verdict(json!({"plugin": "p", "status": "passed", "failures": 1, "excused": 1}));
        assert_eq!(contradiction(&passed, &facts(json!([item("failed"), item("passed")]))), None);
        let two = contradiction(&passed, &facts(json!([item("failed"), item("timeout")]))).unwrap();
        assert!(two.ends_with("failures that it does not count: 1"), "{two}");
        let unknown = contradiction(&passed, &facts(json!([item("failed"), item("unknown")]))).unwrap();
        assert!(unknown.ends_with("unknown items that it does not count: 1"), "{unknown}");
        let failed = verdict(json!({"plugin": "p", "status": "failed"}));
        assert_eq!(contradiction(&failed, &facts(json!([item("failed")]))), None);
    }
}

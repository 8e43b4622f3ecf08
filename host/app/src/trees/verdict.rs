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
use plumbline_core::judgement::PluginVerdict;
use plumbline_sandbox::PluginInfo;

use crate::error::AppError;
use crate::trees::Trees;

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
        more.apply(definition).map_err(|error| {
            AppError::usage(format!("failed to judge plugin `{plugin}`"))
                .because(&error)
                .hint("see docs/judges.md for the format of lists and checks")
        })?;
        if definition.plumbline.verdict.is_empty() {
            return Ok(None);
        }
        self.judge_with(plugin, &source).map(Some)
    }

    fn written_verdict(&mut self, plugin: &str) -> Result<Option<PluginVerdict>, AppError> {
        let member = format!("{PLUGINS_DIR}/{plugin}/{VERDICT_FILE}");
        if self.archive.size(&member).is_none() {
            return Ok(None);
        }
        let cannot = |error: &dyn std::error::Error| {
            AppError::usage(format!("failed to read the verdict over plugin `{plugin}` in `{}`", self.name))
                .because(error)
                .hint("judge it again with `--reprocess`")
        };
        let bytes = self.archive.read(&member, MAX_VERDICT).map_err(|error| cannot(&error))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| cannot(&error))
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
        let root = self.item(plugin)?;
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
            .map_err(|error| AppError::system(format!("failed to judge plugin `{plugin}`")).because(&error))
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

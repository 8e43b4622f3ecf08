//! The verdict over a plugin of an archive: as it stands there, or judged anew.

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

use super::Trees;
use crate::error::CliError;
use crate::ui::say;

/// Bytes of a verdict: what a run writes is far below it.
const MAX_VERDICT: u64 = 512 << 20;
/// Bytes of evidence that are taken out of an archive for one plugin: as much as one call of a module may read by default.
const MAX_EVIDENCE: u64 = 4 << 30;

impl Trees {
    /// The verdict over `plugin`: judged anew where trees are computed anew or `more` judges are wanted, else what the archive holds.
    /// `None`: nobody judged it, and nobody does.
    pub(crate) fn verdict(&mut self, plugin: &str, more: &Chain) -> Result<Option<PluginVerdict>, CliError> {
        if !self.reprocess.always && more.is_empty() {
            return self.written_verdict(plugin);
        }
        let mut source = self.source(plugin)?;
        let definition = Arc::make_mut(&mut source.definition);
        more.apply(definition)
            .map_err(|error| CliError::usage(format!("failed to judge plugin `{plugin}`")).because(&error))?;
        if definition.plumbline.verdict.is_empty() {
            return Ok(None);
        }
        self.judge_with(plugin, &source).map(Some)
    }

    fn written_verdict(&mut self, plugin: &str) -> Result<Option<PluginVerdict>, CliError> {
        let member = format!("{PLUGINS_DIR}/{plugin}/{VERDICT_FILE}");
        if self.archive.size(&member).is_none() {
            return Ok(None);
        }
        let cannot = |error: &dyn std::error::Error| {
            CliError::usage(format!("failed to read the verdict over plugin `{plugin}` in `{}`", self.name))
                .because(error)
                .hint("`--reprocess` judges it again")
        };
        let bytes = self.archive.read(&member, MAX_VERDICT).map_err(|error| cannot(&error))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| cannot(&error))
    }

    fn judge_with(&mut self, plugin: &str, source: &Source) -> Result<PluginVerdict, CliError> {
        let cannot = |error: &dyn std::error::Error| {
            CliError::usage(format!("failed to judge plugin `{plugin}`")).because(error)
        };
        let modules = self.modules()?;
        let judges = plan_judges(&modules, &self.reprocess.limits.modules, source).map_err(|error| {
            cannot(&error).hint("judges that came with the plugin's bundle are not in the archive: name the bundle's definition with `--reprocess --plugin NAME --definition FILE`")
        })?;
        for judge in &judges {
            judge.module.wait().map_err(|error| cannot(&error))?;
            judge.warnings.iter().for_each(|warning| say(&format!("warning: plugin `{plugin}`: {warning}")));
        }
        let root = self.item(plugin)?;
        let no_room = |error: io::Error| {
            CliError::system(format!("failed to judge plugin `{plugin}`"))
                .because(&error)
                .hint("is there room for temporary files?")
        };
        let scratch = tempfile::tempdir_in(self.scratch()?).map_err(no_room)?;
        let (items, evidence) = (scratch.path().join("items"), scratch.path().join("evidence"));
        keep_tree(&root, &items).map_err(no_room)?;
        let expected_results = result_sets(&root);
        root.dismantle();
        self.take_out(&judges, &evidence)
            .map_err(|error| cannot(error.as_ref()).hint("narrow the patterns of `evidence` in the chain"))?;
        let info = PluginInfo {
            name: plugin.to_owned(),
            driver: source.definition.driver.as_str().to_owned(),
            expected_results,
            ..PluginInfo::default()
        };
        let (data, day) = (&source.definition.config_map, self.day());
        judge_plugin(&judges, Judged { plugin: &info, items: &items, root: &evidence, data, day })
            .map_err(|error| CliError::system(format!("failed to judge plugin `{plugin}`")).because(&error))
    }

    /// The day on which the run began, in UTC: what expires is seen as it was then, whenever the archive is judged. Archives of others tell it by
    /// their names; of one that was renamed or unpacked, nobody knows, and it is judged as of today.
    fn day(&self) -> Date {
        let of = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
        let named = || parse_archive_name(self.path.file_name()?.to_str()?).map(|name| name.started.date());
        self.archive.info().started.map(of).or_else(named).unwrap_or_else(|| of(Timestamp::now()))
    }

    /// Takes what the judges may read out of the archive. Of more files than a judge may have, one more is enough for it to see that.
    fn take_out(&mut self, judges: &[PlannedJudge], to: &Path) -> Result<(), Box<dyn std::error::Error>> {
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
            // Names of an archive that was opened lead nowhere but below its root.
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

//! A chain over nothing: whether judges understand what they are given.

use std::fs::{self, File};
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumbline_aggregator::{Judged, Source, judge_plugin, plan_judges};
use plumbline_conformance::chain::Chain;
use plumbline_core::definition::Definition;
use plumbline_sandbox::PluginInfo;
use serde_json::json;

use crate::error::CliError;
use crate::limits::Limits;
use crate::stock;

/// Has the judges of `chain` look at what they are given for `plugin`, of which nothing else is known.
pub(crate) fn rehearse_alone(chain: &Chain, plugin: &str, limits: &Limits) -> Result<(), CliError> {
    let wrong = |error: &dyn std::error::Error| {
        CliError::usage(format!("plugin `{plugin}` cannot be judged so")).because(error)
    };
    // Old archives have plugins whose names no definition may have: here the name matters to nobody.
    let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "plugin"}, "spec": {}});
    let mut definition = Definition::from_json(document).map_err(|error| wrong(&error))?.definition;
    chain.apply(&mut definition).map_err(|error| wrong(&error))?;
    rehearse_as(&Source { definition: Arc::new(definition), bundle: None }, 0, plugin, limits)
}

/// Has the judges of `source` from number `first` on judge a tree without items, without evidence: each reads its lists then, and says what is wrong
/// with them.
pub(super) fn rehearse(source: &Source, first: usize, limits: &Limits) -> Result<(), CliError> {
    rehearse_as(source, first, source.definition.name.as_str(), limits)
}

fn rehearse_as(source: &Source, first: usize, name: &str, limits: &Limits) -> Result<(), CliError> {
    let mut definition = source.definition.as_ref().clone();
    definition.plumbline.verdict.drain(..first);
    // None is there; and what is wrong with a pattern is said by the judge, with its place.
    definition.plumbline.verdict.iter_mut().for_each(|entry| entry.evidence.clear());
    if definition.plumbline.verdict.is_empty() {
        return Ok(());
    }
    let source = Source { definition: Arc::new(definition), bundle: source.bundle.clone() };
    let wrong =
        |error: &dyn std::error::Error| CliError::usage(format!("plugin `{name}` cannot be judged so")).because(error);
    let judges = plan_judges(&stock::modules(limits)?, &limits.modules, &source).map_err(|error| wrong(&error))?;
    let no_room = |error: io::Error| CliError::system("a directory for temporary files cannot be made").because(&error);
    let scratch = tempfile::tempdir().map_err(no_room)?;
    let (items, root) = (scratch.path().join("items"), scratch.path().join("archive"));
    File::create(&items).and_then(|_| fs::create_dir(&root)).map_err(no_room)?;
    let info = PluginInfo {
        name: name.to_owned(),
        driver: source.definition.driver.as_str().to_owned(),
        ..PluginInfo::default()
    };
    let judged = Judged {
        plugin: &info,
        items: &items,
        root: &root,
        data: &source.definition.config_map,
        day: Timestamp::now().to_zoned(TimeZone::UTC).date(),
    };
    let verdict = judge_plugin(&judges, judged)
        .map_err(|error| CliError::system(format!("plugin `{name}` cannot be judged")).because(&error))?;
    match verdict.chain.into_iter().find_map(|record| Some((record.judge, record.error?))) {
        None => Ok(()),
        Some((judge, error)) => {
            let what = format!("the judge `{judge}` cannot use what it is given for plugin `{name}`");
            Err(CliError::usage(what)
                .because(&io::Error::other(error))
                .hint("docs/judges.md shows what lists and checks look like"))
        }
    }
}

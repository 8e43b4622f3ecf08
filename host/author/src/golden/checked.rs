//! Cases of a check: files, objects and variables, from which the component makes its items.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_aggregator::{PlannedPlugin, RunLog, Usage};
use plumbline_core::{FlatItem, GLOBAL, Rights};
use plumbline_sandbox::{
    Attributes, CheckFailure, CheckProgress, CheckSink, ClusterReader, Directory, ItemSink, ItemsFile, ModuleFailure,
    PluginInfo, RunCheck,
};
use serde::Deserialize;

use super::actual::{Actual, document, scratch, tree_of, unusable};
use super::case::{Case, ENV, FILES, OWNERS, TIME};
use super::recorded::{Recordings, Unrecorded};
use super::recorded_network::RecordedNetwork;

/// The time that a check sees, unless the case sets another one: 2000-01-01 00:00 UTC.
const NOW: Duration = Duration::from_secs(946_684_800);
/// The node of a check that runs on every node.
const NODE: &str = "node";

/// Runs the check on what `case` supplies. The output is the tree that a run would have.
pub(super) fn checked(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
    let Some(check) = &planned.check else {
        return Err("it has the input of a check, but the definition has no `plumbline.component`".to_owned());
    };
    let module = check.module.wait().map_err(|error| error.to_string())?;
    let (definition, rights) = (&planned.source.definition, &check.module.info().rights);
    let component = definition.plumbline.component.as_deref().unwrap_or_default();
    let scratch = scratch()?;
    let node = if definition.driver.is_per_node() { NODE } else { GLOBAL };
    let results = scratch.path().join("results").join(node);
    let failed = |error: io::Error| format!("failed to store the items of the check: {error}");
    let file = fs::create_dir_all(&results).and_then(|()| ItemsFile::create(&results)).map_err(failed)?;
    let unrecorded = Unrecorded::default();
    let recordings = Recordings::read(&case.dir, rights.clone(), unrecorded.clone())?;
    let grants = definition.plumbline.grants.clone();
    let network = RecordedNetwork::read(&case.dir, grants, unrecorded.clone())?;
    let plugin = PluginInfo { expected_results: 1, ..planned.info() };
    let call = RunCheck {
        plugin: &plugin,
        directories: directories(&case.dir, rights),
        env: variables(&case.dir, rights)?,
        now: Some(time(&case.dir)?),
        cluster: (!rights.kubernetes.is_empty()).then(|| Box::new(recordings) as Box<dyn ClusterReader>),
        network: Some(Box::new(network)),
        owners: Some(owners(&case.dir)?),
        limits: &check.limits,
    };
    let (mut items, mut log) = (Items(file), RunLog::new(&plugin.name, component));
    let start = Instant::now();
    let called = module.run_check(call, &mut items, &mut log).map_err(|failure| log.explain(failure));
    let failure = called
        .as_ref()
        .err()
        .map(|error| CheckFailure::of(error.to_string()).with("hint", error.hint().map(str::to_owned)));
    items.0.finish(&plugin.name, failure, definition.plumbline.allow_empty).map_err(failed)?;
    let wall = start.elapsed();
    let mut actual = tree_of(planned, scratch.path(), &[scratch.path(), &case.dir])?;
    actual.wall += wall;
    actual.unrecorded = unrecorded.sentences();
    count(&mut actual.usage, called.map(|stats| stats.memory));
    Ok(actual)
}

fn count(usage: &mut Usage, called: Result<u64, ModuleFailure>) {
    match called {
        Ok(memory) => usage.memory = usage.memory.max(memory),
        Err(ModuleFailure::Refused(sentence)) => usage.refused.insert(0, sentence),
        Err(failure) => usage.broken.insert(0, failure.to_string()),
    }
}

/// Returns what is wrong with the input of a check in `dir`, without running the check.
pub(crate) fn input_problem(dir: &Path) -> Option<String> {
    let every = Rights::default();
    let network = RecordedNetwork::read(dir, every.clone(), Unrecorded::default()).map(drop);
    let objects = Recordings::read(dir, every, Unrecorded::default()).map(drop);
    objects
        .and(network)
        .and(owners(dir).map(drop))
        .and_then(|()| parse_variables(dir).map(drop))
        .and_then(|()| time(dir).map(drop))
        .err()
}

/// Returns the directories that the check needs and the case has. In a run, a directory that the
/// node does not have is missing too.
fn directories(dir: &Path, rights: &Rights) -> Vec<Directory> {
    let root = dir.join(FILES);
    rights.files.iter().filter_map(|path| Directory::of_node(&root, path).ok()).collect()
}

fn variables(dir: &Path, rights: &Rights) -> Result<Vec<(String, String)>, String> {
    let variables = parse_variables(dir)?;
    match variables.keys().find(|name| !rights.env.contains(name)) {
        Some(name) => Err(format!("`{ENV}` sets `{name}`, which is not in the rights of the check")),
        None => Ok(variables.into_iter().collect()),
    }
}

fn parse_variables(dir: &Path) -> Result<BTreeMap<String, String>, String> {
    let path = dir.join(ENV);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let bytes = document(&path)?;
    if bytes.trim_ascii().is_empty() {
        return Ok(BTreeMap::new());
    }
    serde_saphyr::from_slice(&bytes).map_err(|error| unusable(&path, &error))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Owner {
    /// The permissions in octal, such as `0600`.
    mode: String,
    #[serde(default)]
    uid: u32,
    #[serde(default)]
    gid: u32,
}

/// Returns the owners of the case by path. Files that it does not list belong to root.
fn owners(dir: &Path) -> Result<BTreeMap<String, Attributes>, String> {
    let path = dir.join(OWNERS);
    let bytes = if path.exists() { document(&path)? } else { Vec::new() };
    if bytes.trim_ascii().is_empty() {
        return Ok(BTreeMap::new());
    }
    let owners: BTreeMap<String, Owner> = serde_saphyr::from_slice(&bytes).map_err(|error| unusable(&path, &error))?;
    let attributes = |(file, Owner { mode, uid, gid }): (String, Owner)| {
        let mode = u32::from_str_radix(&mode, 8).map_err(|_| {
            unusable(
                &path,
                &format_args!("mode `{mode}` of `{file}`: expected octal digits in quotes, such as \"0600\""),
            )
        })?;
        Ok((file, Attributes { mode, uid, gid }))
    };
    owners.into_iter().map(attributes).collect()
}

/// Returns the time of the case since 1970.
fn time(dir: &Path) -> Result<Duration, String> {
    let path = dir.join(TIME);
    if !path.exists() {
        return Ok(NOW);
    }
    let text = String::from_utf8(document(&path)?).map_err(|error| unusable(&path, &error))?;
    let time: Timestamp = text.trim().parse().map_err(|error: jiff::Error| unusable(&path, &error))?;
    Duration::try_from(time.duration_since(Timestamp::UNIX_EPOCH))
        .map_err(|_| unusable(&path, &"expected a time since 1970, such as `2026-11-21T08:00:00Z`"))
}

struct Items(ItemsFile);

impl ItemSink for Items {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.0.write(&item)
    }
}

impl CheckSink for Items {
    fn progress(&mut self, _: CheckProgress) -> io::Result<()> {
        Ok(())
    }
}

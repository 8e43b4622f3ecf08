//! Reads what the index needs of one archive: the facts about its run, and the outcomes of its tests.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::iter;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumbline_aggregator::{LeanLimits, read_lean};
use plumbline_archive::layout::{PLUGINS_DIR, TREE_FILE, parse_archive_name};
use plumbline_archive::results::{ArchiveInfo, ReadError, ReadLimits, ResultsArchive};
use plumbline_core::text::first_chars;
use plumbline_core::{Digest, Item};
use serde_json::Value;

use crate::context::Context;
use crate::difference::Outcome;
use crate::difference::{self, SameTests, TestKey};
use crate::error::AppError;
use crate::history::index::{PluginFacts, RunFacts};
use crate::modules::Limits;
use crate::trees::cluster::{ClusterFile, ClusterIdentity};
use crate::trees::{Reprocess, Trees, mark_unread};

/// The most bytes of the files of one archive that are read into memory. The tree of the suite of
/// Kubernetes has 1 MiB.
const MAX_BYTES: u64 = 256 << 20;

/// The most files of one archive that are read: a tree and a definition for each of 10,000 plugins, and
/// some files about the cluster.
const MAX_FILES: usize = 25_000;

/// The names of the file with the definition of a plugin. Sonobuoy misspelt it before v0.56.6.
const DEFINITION_FILES: [&str; 2] = ["definition.json", "defintion.json"];

/// The most reruns that follow one another. `--retry-failed` makes at most 5.
const MAX_RERUNS: usize = 100;

/// The most different tests of one run.
const MAX_TESTS: usize = 200_000;

/// The most characters of a name of a test, a suite, or a class. The index has the first ones of a
/// longer name.
const MAX_NAME: usize = 1_000;

/// The most characters of a fact, such as the version of the cluster.
const MAX_FACT: usize = 100;

/// The characters of a UID that identify a cluster.
const CLUSTER_CHARS: usize = 8;

/// A run as its archive describes it.
pub(super) struct ScannedRun {
    pub(super) facts: RunFacts,
    /// Each test with its outcome and its duration in milliseconds, in any order.
    pub(super) outcomes: Vec<(TestKey, Outcome, Option<u32>)>,
    /// The plugins whose results cannot be read.
    pub(super) problems: Vec<AppError>,
}

/// Why an archive is not in the history.
pub(super) enum ScanError {
    /// The file is intact, and not an archive of results.
    NotResults,
    /// The archive cannot be read.
    Unreadable(AppError),
}

/// An archive to read.
#[derive(Clone, Copy)]
pub(super) struct ScanInput<'a> {
    /// The path of the archive, or of a copy.
    pub(super) path: &'a Path,
    /// The path or URL for messages.
    pub(super) shown: &'a str,
    /// The modification time in nanoseconds since 1970.
    pub(super) modified: i64,
}

/// Reads an archive.
pub(super) fn scan(context: &Context, limits: &Limits, input: ScanInput<'_>) -> Result<ScannedRun, ScanError> {
    let ScanInput { path, shown, .. } = input;
    // A stream is read to its end in any case.
    let opened = open(path, is_wanted, !path.is_dir());
    let (archive, files) = opened.map_err(|error| match error {
        ReadError::NotResults(_) => ScanError::NotResults,
        error => ScanError::Unreadable(unreadable(shown, &error)),
    })?;
    let info = archive.info();
    let missing = info.plugins.iter().any(|plugin| archive.tree(plugin).is_none());
    let mut run = RunContent { reruns: files.reruns(&info.plugins), ..RunContent::default() };
    if missing {
        // Trees that the archive does not have are computed.
        let reprocess = Reprocess { limits: limits.clone(), ..Reprocess::default() };
        let mut trees = Trees::open_as(context, path, shown, reprocess).map_err(ScanError::Unreadable)?;
        for plugin in trees.plugins() {
            match trees.judged_item(&plugin) {
                Ok(root) => run.add(&files, &plugin, root),
                Err(error) => run.problems.push(error),
            }
        }
    } else {
        let is_own = info.plumbline_version.is_some();
        for plugin in &info.plugins {
            match files.tree(plugin, is_own) {
                Ok(mut root) => {
                    if !is_own {
                        mark_unread(&mut root);
                    }
                    run.add(&files, plugin, root);
                }
                Err(error) => run.problems.push(
                    AppError::usage(format!("failed to read the result tree of plugin `{plugin}` in `{shown}`"))
                        .because(&error),
                ),
            }
        }
    }
    run.finished(info, &files, input).map_err(ScanError::Unreadable)
}

/// Reads what identifies the run in the archive at `path`, which is `shown` in messages. Its result trees
/// may be larger than a history can hold.
pub(super) fn identify(path: &Path, shown: &str) -> Result<RunFacts, AppError> {
    let is_kept = |name: &str| ClusterFile::of(name).is_some();
    let (archive, files) = open(path, is_kept, true).map_err(|error| unreadable(shown, &error))?;
    Ok(facts(archive.info(), &files, ScanInput { path, shown, modified: 0 }))
}

/// Opens an archive, and keeps the files that `is_kept` accepts. With `whole`, reads all files for the
/// fingerprint.
fn open(path: &Path, is_kept: fn(&str) -> bool, whole: bool) -> Result<(ResultsArchive, Files), ReadError> {
    let (mut files, mut left) = (Files::default(), MAX_BYTES);
    let archive = ResultsArchive::open_visiting(
        path,
        &ReadLimits::default(),
        &mut |name, _| is_kept(name) || (whole && !is_of_macos(name)),
        &mut |name, content| {
            let mut content = Checked { content, checksum: crc32fast::Hasher::new() };
            if is_kept(name) {
                files.take(name, &mut content, &mut left)?;
            } else {
                io::copy(&mut content, &mut io::sink())?;
            }
            if whole {
                files.add_fingerprint(name, content.checksum.finalize());
            }
            Ok(())
        },
    )?;
    Ok((archive, files))
}

/// Whether a file may have attributes that macOS keeps. Those of a stream are not read.
fn is_of_macos(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|base| base.starts_with("._"))
}

/// Computes the checksum of what is read.
struct Checked<'a> {
    content: &'a mut dyn Read,
    checksum: crc32fast::Hasher,
}

impl Read for Checked<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(out)?;
        self.checksum.update(out.get(..read).unwrap_or_default());
        Ok(read)
    }
}

pub(super) fn unreadable(archive: &str, error: &dyn std::error::Error) -> AppError {
    AppError::usage(format!("failed to read archive `{archive}`"))
        .because(error)
        .hint("check that the archive is complete, or retrieve it again")
}

/// Returns whether a file of an archive is read.
fn is_wanted(name: &str) -> bool {
    let of_plugin = || name.strip_prefix(PLUGINS_DIR)?.strip_prefix('/')?.split_once('/').map(|(_, file)| file);
    ClusterFile::of(name).is_some()
        || of_plugin().is_some_and(|file| file == TREE_FILE || DEFINITION_FILES.contains(&file))
}

/// The files that a history needs.
#[derive(Default)]
struct Files {
    /// Their content, by name.
    read: BTreeMap<String, Vec<u8>>,
    /// The fingerprint of all files of the archive. 0 if it is unknown.
    fingerprint: u64,
}

impl Files {
    /// Adds the name and the checksum of a file to the fingerprint, which does not depend on the order.
    fn add_fingerprint(&mut self, name: &str, checksum: u32) {
        let file = first_bytes(&Digest::of(format!("{checksum:08x} {name}").as_bytes()));
        self.fingerprint = self.fingerprint.wrapping_add(file);
    }

    fn take(&mut self, name: &str, content: &mut dyn Read, left: &mut u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        let read = content.take(*left + 1).read_to_end(&mut bytes)? as u64;
        *left = left.checked_sub(read).ok_or_else(|| {
            io::Error::other(format!("the result trees of the archive have more than {} MiB", MAX_BYTES >> 20))
        })?;
        // As in tar, the last file of a name wins.
        self.read.insert(name.to_owned(), bytes);
        if self.read.len() > MAX_FILES {
            return Err(io::Error::other(format!(
                "the archive has more than {MAX_FILES} result trees and definitions of plugins"
            )));
        }
        Ok(())
    }

    fn of_plugin(&self, plugin: &str, file: &str) -> Option<&[u8]> {
        self.read.get(&format!("{PLUGINS_DIR}/{plugin}/{file}")).map(Vec::as_slice)
    }

    /// The tree of `plugin`. If Plumbline wrote it, a faster reader suffices.
    fn tree(&self, plugin: &str, is_own: bool) -> io::Result<Item> {
        let bytes = self.of_plugin(plugin, TREE_FILE).ok_or(io::ErrorKind::NotFound)?;
        if is_own {
            let limits = LeanLimits { details_bytes: 0, ..LeanLimits::default() };
            if let Ok(tree) = read_lean(bytes, &limits) {
                return Ok(tree.root);
            }
        }
        let text = std::str::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Item::parse(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn definition(&self, plugin: &str) -> Option<Value> {
        let bytes = DEFINITION_FILES.iter().find_map(|file| self.of_plugin(plugin, file))?;
        let document: Value = serde_json::from_slice(bytes).ok()?;
        // Only this part is the same for each run. The rest has settings of the run.
        document.get("Definition").cloned().or(Some(document))
    }

    /// The plugin whose tests a rerun runs, by the name of the rerun. A rerun of a rerun has those of the
    /// first attempt.
    fn reruns(&self, plugins: &[String]) -> BTreeMap<String, String> {
        let named =
            |plugin: &String| Some(self.definition(plugin)?.pointer("/plumbline/reruns/plugin")?.as_str()?.to_owned());
        let before: BTreeMap<&str, String> =
            plugins.iter().filter_map(|plugin| Some((plugin.as_str(), named(plugin)?))).collect();
        let first = |plugin: &String| {
            // In a forged archive, reruns may follow each other in a circle.
            let attempts = iter::successors(before.get(plugin.as_str()), |plugin| before.get(plugin.as_str()));
            Some((plugin.clone(), attempts.take(MAX_RERUNS).last()?.clone()))
        };
        plugins.iter().filter_map(first).collect()
    }

    fn document(&self, file: ClusterFile) -> Value {
        // Of several lists of namespaces, the last one by name counts, as in `Trees::cluster`.
        let found = self.read.iter().rev().find(|(name, _)| ClusterFile::of(name) == Some(file));
        found.and_then(|(_, bytes)| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// The number of scheduled runs that were missed before this one.
    fn missed(&self) -> u64 {
        self.document(ClusterFile::Info).pointer("/schedule/missed").and_then(Value::as_u64).unwrap_or_default()
    }
}

/// The tests of a run, and its plugins.
#[derive(Default)]
struct RunContent {
    /// The plugin whose tests a rerun runs, by the name of the rerun.
    reruns: BTreeMap<String, String>,
    /// Names of tests start alike, so that comparing them would take most of the time.
    tests: HashMap<TestKey, SameTests>,
    plugins: Vec<PluginFacts>,
    problems: Vec<AppError>,
}

impl RunContent {
    /// Adds the tree of a plugin. Tests of a plugin that reruns failures of another one are further
    /// attempts of that one's tests.
    fn add(&mut self, files: &Files, plugin: &str, root: Item) {
        let reruns = self.reruns.get(plugin);
        let before = self.tests.len();
        let add = |key, test| self.tests.entry(key).or_default().0.push(test);
        difference::each_test(reruns.map_or(plugin, String::as_str), &root, add);
        root.dismantle();
        if reruns.is_none() && self.tests.len() > before {
            let name = first_chars(plugin, MAX_NAME).to_owned();
            self.plugins.push(PluginFacts { name, digest: digest(files.definition(plugin)), has_classes: false });
        }
    }

    fn finished(self, info: &ArchiveInfo, files: &Files, input: ScanInput<'_>) -> Result<ScannedRun, AppError> {
        let Self { tests, mut plugins, problems, .. } = self;
        if tests.len() > MAX_TESTS {
            return Err(AppError::usage(format!("failed to read archive `{}`", input.shown))
                .cause(format!("it has {} different tests, more than {MAX_TESTS}", tests.len())));
        }
        let with_classes = difference::with_classes(tests.keys());
        for plugin in &mut plugins {
            plugin.has_classes = with_classes.contains(plugin.name.as_str());
        }
        Ok(ScannedRun {
            facts: RunFacts { plugins, ..facts(info, files, input) },
            outcomes: tests.into_iter().map(|(key, attempts)| outcome(key, &attempts)).collect(),
            problems,
        })
    }
}

/// What an archive says about its run, without the plugins.
fn facts(info: &ArchiveInfo, files: &Files, input: ScanInput<'_>) -> RunFacts {
    let tool = match (&info.plumbline_version, &info.version) {
        (Some(version), _) => format!("Plumbline {version}"),
        (None, Some(version)) => format!("Sonobuoy {version}"),
        (None, None) => String::new(),
    };
    let cluster = ClusterIdentity::of(|file| files.document(file));
    let uid = cluster.uid.unwrap_or_default();
    let started = started(info, input);
    let written = || Timestamp::from_nanosecond(i128::from(input.modified)).unwrap_or_default();
    RunFacts {
        run: fact(info.run.as_deref().unwrap_or_default()),
        tool: fact(&tool),
        started: started.unwrap_or_else(written).as_second(),
        cluster: first_chars(&uid, CLUSTER_CHARS).to_owned(),
        version: fact(&cluster.version.unwrap_or_default()),
        missed: files.missed(),
        is_dated: started.is_some(),
        content: files.fingerprint,
        plugins: Vec::new(),
    }
}

fn outcome(mut key: TestKey, attempts: &SameTests) -> (TestKey, Outcome, Option<u32>) {
    let id = &mut key.test;
    for text in id.suites.iter_mut().chain(&mut id.node).chain([&mut id.classname, &mut id.name, &mut key.plugin]) {
        let kept = first_chars(text, MAX_NAME).len();
        text.truncate(kept);
    }
    let longest = attempts.0.iter().filter(|test| test.ran()).filter_map(|test| test.seconds).reduce(f64::max);
    // The conversion keeps to the limits of the type.
    (key, Outcome::of(&attempts.0), longest.map(|seconds| (seconds * 1000.0).round() as u32))
}

/// When the run started, as the archive says, or its name.
fn started(info: &ArchiveInfo, input: ScanInput<'_>) -> Option<Timestamp> {
    let named = || {
        let name = parse_archive_name(input.shown.rsplit('/').next()?)?;
        Some(name.started.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    info.started.or_else(named)
}

fn fact(text: &str) -> String {
    first_chars(text, MAX_FACT).to_owned()
}

/// The first bytes of the digest of a definition, without its judges and their lists, which do not
/// change how the plugin runs. 0 without a definition.
fn digest(definition: Option<Value>) -> u64 {
    let Some(mut definition) = definition else { return 0 };
    let lists: Vec<String> = definition
        .pointer("/plumbline/verdict")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|judge| judge.get("data")?.as_array())
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    if let Some(files) = definition.get_mut("config-map").and_then(Value::as_object_mut) {
        files.retain(|name, _| !lists.contains(name));
    }
    if let Some(extensions) = definition.get_mut("plumbline").and_then(Value::as_object_mut) {
        extensions.remove("verdict");
    }
    // Without `preserve_order`, keys are sorted, so equal documents have equal texts.
    first_bytes(&Digest::of(definition.to_string().as_bytes()))
}

fn first_bytes(digest: &Digest) -> u64 {
    digest.as_bytes().first_chunk().copied().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::context::Silent;

    #[test]
    fn an_archive_with_more_definitions_than_any_run_has_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("meta/info.json", r#"{"plugins": ["p0"]}"#);
        for n in 0..MAX_FILES {
            write(&format!("plugins/p{n}/definition.json"), "{}");
        }
        let input = ScanInput { path: dir.path(), shown: "run", modified: 0 };
        match scan(&Context::new(Silent), &Limits::default(), input) {
            Err(ScanError::Unreadable(error)) => {
                let causes = error.causes().join(": ");
                assert!(causes.contains("more than 25000 result trees and definitions"), "{causes}");
            }
            _ => panic!("the archive was read"),
        }
        // Such a run can be judged by a history of other runs.
        assert_ne!(identify(dir.path(), "run").unwrap().content, 0);
    }

    #[test]
    fn reruns_of_reruns_are_attempts_of_the_same_tests() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: String, text: String| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "meta/info.json".to_owned(),
            r#"{"plugins": ["e2e", "e2e-retry-1", "e2e-retry-2", "x", "y"]}"#.to_owned(),
        );
        // The last two follow each other in a circle, as only a forged archive has it.
        for (plugin, reruns, flaky, bad) in [
            ("e2e", None, "failed", "failed"),
            ("e2e-retry-1", Some("e2e"), "failed", "failed"),
            ("e2e-retry-2", Some("e2e-retry-1"), "passed", "failed"),
            ("x", Some("y"), "passed", "passed"),
            ("y", Some("x"), "passed", "passed"),
        ] {
            let plumbline = reruns.map_or(json!({}), |reruns| json!({"reruns": {"plugin": reruns}}));
            write(
                format!("plugins/{plugin}/definition.json"),
                json!({"Definition": {"plumbline": plumbline}}).to_string(),
            );
            let items = json!([{"name": "flaky", "status": flaky}, {"name": "bad", "status": bad}]);
            write(
                format!("plugins/{plugin}/sonobuoy_results.yaml"),
                json!({"name": plugin, "status": "failed", "items": items}).to_string(),
            );
        }
        let input = ScanInput { path: dir.path(), shown: "run", modified: 0 };
        let Ok(run) = scan(&Context::new(Silent), &Limits::default(), input) else { panic!("it cannot be read") };
        let names: Vec<&str> = run.facts.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, ["e2e"]);
        let of_suite = run.outcomes.iter().filter(|(key, ..)| key.plugin.starts_with("e2e"));
        let mut outcomes: Vec<_> =
            of_suite.map(|(key, outcome, _)| (key.plugin.as_str(), key.test.name.as_str(), *outcome)).collect();
        outcomes.sort_by_key(|(_, name, _)| *name);
        assert_eq!(outcomes, [("e2e", "bad", Outcome::Failed), ("e2e", "flaky", Outcome::Flaky)]);
    }
}

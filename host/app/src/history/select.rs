//! Selects runs and tests of a history.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use plumbline_conformance::lists::GoRegex;

use crate::difference::TestKey;
use crate::error::{AppError, Explain as _};
use crate::history::History;
use crate::history::index::{CHUNK, IndexedRun, RunFacts};
use crate::history::scan::identify;
use crate::trees::Trees;

/// Which runs and tests are shown.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Selection {
    /// Show only tests of this plugin
    #[arg(short, long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Show only tests whose names match this regular expression, and list each of them
    #[arg(long, value_name = "REGEX")]
    pub test: Option<String>,
    /// Use only runs on this cluster: the first characters of its ID, as the history shows it
    #[arg(long, value_name = "ID")]
    pub cluster: Option<String>,
    /// Use only runs on this version of Kubernetes, such as `v1.37.2` or `v1.37`
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// Use only the newest N of these runs
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Leave out this run: a run that is judged by its history does not count as evidence for itself.
    #[arg(skip)]
    pub except_run: Option<RunIdentity>,
}

/// What identifies a run among those of a history.
#[derive(Debug, Clone)]
pub struct RunIdentity(RunFacts);

impl RunIdentity {
    /// Reads the identity of the run in an archive.
    pub(crate) fn of(trees: &Trees) -> Result<Self, AppError> {
        identify(trees.path(), trees.name()).map(Self)
    }
}

/// A selected run, and the source that its tests are numbered in.
#[derive(Clone, Copy)]
pub(super) struct SelectedRun<'a> {
    pub(super) source: usize,
    pub(super) run: &'a IndexedRun,
}

/// The selected runs, the oldest first. Of several archives of a run, only one counts: one that was read
/// completely, if there is one.
pub(super) fn runs<'a>(history: &'a History, selection: &Selection) -> Result<Vec<SelectedRun<'a>>, AppError> {
    let of_source = |(source, loaded): (usize, &'a super::Loaded)| {
        loaded.index.runs.iter().map(move |run| SelectedRun { source, run })
    };
    let mut runs: Vec<SelectedRun<'_>> = history.loaded.iter().enumerate().flat_map(of_source).collect();
    runs.retain(|one| is_selected(one.run, selection));
    runs.sort_by_key(|one| (one.run.facts.started, !one.run.file.is_settled(), &one.run.file.name));
    let (mut seen, mut copies) = (HashSet::new(), HashSet::new());
    runs.retain(|one| {
        let facts = &one.run.facts;
        let is_copy = facts.content != 0 && !copies.insert(facts.content);
        let is_known = facts.key().is_some_and(|key| !seen.insert(key));
        !is_copy && !is_known
    });
    if let Some(last) = selection.last {
        runs.drain(..runs.len().saturating_sub(last));
    }
    if runs.is_empty() {
        return Err(nothing(history, selection));
    }
    Ok(runs)
}

fn is_selected(run: &IndexedRun, selection: &Selection) -> bool {
    let facts = &run.facts;
    let version = |wanted: &String| {
        facts.version.strip_prefix(wanted.as_str()).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    selection.except_run.as_ref().is_none_or(|judged| !facts.is_same_run(&judged.0))
        && selection.cluster.as_ref().is_none_or(|cluster| facts.cluster.starts_with(cluster.as_str()))
        && selection.kubernetes_version.as_ref().is_none_or(version)
        && selection.plugin.as_ref().is_none_or(|plugin| facts.plugins.iter().any(|one| one.name == *plugin))
}

fn nothing(history: &History, selection: &Selection) -> AppError {
    let all = history.loaded.iter().flat_map(|loaded| &loaded.index.runs);
    let (mut plugins, mut clusters, mut versions) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for run in all {
        plugins.extend(run.facts.plugins.iter().map(|plugin| plugin.name.as_str()));
        clusters.insert(run.facts.cluster.as_str());
        versions.insert(run.facts.version.as_str());
    }
    let list = |names: BTreeSet<&str>| {
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        plumbline_core::text::listed(&names, MAX_LISTED, ", ")
    };
    let failed = AppError::usage("no run in the history matches");
    let hint = match (&selection.plugin, &selection.cluster, &selection.kubernetes_version) {
        _ if selection.except_run.is_some() => {
            format!("another run of the plugin is needed; the history has the plugins {}", list(plugins))
        }
        (Some(_), ..) => format!("the history has the plugins {}", list(plugins)),
        (_, Some(_), _) => format!("the history has the clusters {}", list(clusters)),
        (_, _, Some(_)) => format!("the history has the versions {}", list(versions)),
        _ => "select at least one run with `--last`".to_owned(),
    };
    failed.hint(hint)
}

/// The most names in a hint.
const MAX_LISTED: usize = 10;

/// The rows of a table of tests, for tests of several sources.
pub(super) struct Rows<'a> {
    /// The identity of each row.
    pub(super) keys: Vec<Cow<'a, TestKey>>,
    /// The row of each test, by source and number. `None` if it is not selected.
    by_source: Vec<Vec<Option<u32>>>,
    /// The only source, if its tests are in the order of their rows, and each has a row of its own.
    ordered: Option<usize>,
}

impl<'a> Rows<'a> {
    /// Numbers the selected tests of these runs.
    ///
    /// Archives of Sonobuoy and of earlier versions have no classes. If a plugin has none in one of
    /// the runs, a test without a class is the one with a class that has its name. If several classes
    /// have such a test, it has a row of its own, because it could be any of them.
    pub(super) fn of(history: &'a History, runs: &[SelectedRun<'a>], selection: &Selection) -> Result<Self, AppError> {
        let pattern = selection.test.as_ref().map(|pattern| {
            GoRegex::new(pattern)
                .usage_error(format_args!("invalid regular expression `{pattern}`"))
                .hint("see docs/judges.md for the syntax of regular expressions")
        });
        let pattern = pattern.transpose()?;
        let classes = classes(history, &mixed_plugins(runs));
        let tests: usize = history.loaded.iter().map(|loaded| loaded.index.tests().len()).sum();
        let (mut keys, mut known) = (Vec::new(), HashMap::<Cow<'a, TestKey>, u32>::with_capacity(tests));
        let mut by_source = Vec::new();
        for (source, loaded) in history.loaded.iter().enumerate() {
            if !runs.iter().any(|one| one.source == source) {
                by_source.push(Vec::new());
                continue;
            }
            let row = |key: &'a TestKey| {
                let is_plugin = selection.plugin.as_ref().is_none_or(|plugin| key.plugin == *plugin);
                if !is_plugin || pattern.as_ref().is_some_and(|pattern| !pattern.is_match(&key.test.name)) {
                    return None;
                }
                let class = classes.get(&without_class(key)).copied().flatten();
                let mut key = Cow::Borrowed(key);
                if let Some(class) = class.filter(|_| key.test.classname.is_empty()) {
                    class.clone_into(&mut key.to_mut().test.classname);
                }
                let next = u32::try_from(keys.len()).ok()?;
                let row = *known.entry(key.clone()).or_insert(next);
                if row == next {
                    keys.push(key);
                }
                Some(row)
            };
            by_source.push(loaded.index.tests().iter().map(row).collect());
        }
        let ordered = ordered(&by_source, keys.len());
        Ok(Self { keys, by_source, ordered })
    }

    /// The number of chunks of the source that has the most.
    pub(super) fn chunks(&self) -> usize {
        self.by_source.iter().map(Vec::len).max().unwrap_or_default().div_ceil(CHUNK)
    }

    /// For each source, whether a chunk of its tests has a row in `range`.
    pub(super) fn wanted(&self, range: &Range<usize>) -> Vec<Vec<bool>> {
        let is_in = |row: &Option<u32>| row.is_some_and(|row| range.contains(&(row as usize)));
        self.by_source.iter().map(|tests| tests.chunks(CHUNK).map(|rows| rows.iter().any(is_in)).collect()).collect()
    }

    /// The rows of the tests of a source, by number.
    pub(super) fn of_source(&self, source: usize) -> &[Option<u32>] {
        self.by_source.get(source).map(Vec::as_slice).unwrap_or_default()
    }

    /// The end of the rows that have no test after this chunk. `None` if none is known to be complete.
    pub(super) fn complete_after(&self, chunk: usize) -> Option<usize> {
        let tests = self.of_source(self.ordered?).chunks(CHUNK).nth(chunk)?;
        tests.iter().rev().find_map(|row| *row).map(|last| last as usize + 1)
    }
}

/// The only source with tests, if no two of them share one of the `rows`. Rows are numbered in the
/// order of tests.
fn ordered(by_source: &[Vec<Option<u32>>], rows: usize) -> Option<usize> {
    let mut used = by_source.iter().enumerate().filter(|(_, tests)| !tests.is_empty());
    let (source, tests) = used.next().filter(|_| used.next().is_none())?;
    (tests.iter().flatten().count() == rows).then_some(source)
}

/// The plugin, the node, the suites and the name of a test.
type Classless<'a> = (&'a str, Option<&'a str>, &'a [String], &'a str);

fn without_class(TestKey { plugin, test }: &TestKey) -> Classless<'_> {
    (plugin, test.node.as_deref(), &test.suites, &test.name)
}

/// The class of each test of these plugins that has one, or `None` if several classes have such a test.
fn classes<'a>(history: &'a History, plugins: &BTreeSet<&str>) -> HashMap<Classless<'a>, Option<&'a str>> {
    let mut classes: HashMap<Classless<'a>, Option<&'a str>> = HashMap::new();
    let tests = history.loaded.iter().flat_map(|loaded| loaded.index.tests());
    for key in tests.filter(|key| plugins.contains(key.plugin.as_str()) && !key.test.classname.is_empty()) {
        let class = key.test.classname.as_str();
        let known = classes.entry(without_class(key)).or_insert(Some(class));
        *known = known.filter(|known| *known == class);
    }
    classes
}

/// The plugins that have classes in some of the runs only.
fn mixed_plugins<'a>(runs: &[SelectedRun<'a>]) -> BTreeSet<&'a str> {
    let (mut with, mut without) = (BTreeSet::new(), BTreeSet::new());
    for plugin in runs.iter().flat_map(|one| &one.run.facts.plugins) {
        if plugin.has_classes { &mut with } else { &mut without }.insert(plugin.name.as_str());
    }
    with.intersection(&without).copied().collect()
}

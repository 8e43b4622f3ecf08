//! Tests of the role `check`: what is granted, and everything that is not.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{
    CallStats, CheckProgress, CheckSink, ClusterReader, Directory, ItemSink, LogLevel, ModuleFailure, Network,
    ObjectPage, ObjectQuery, RunCheck,
};
use tempfile::TempDir;

use crate::support::{self, misbehave, plugin};

/// A directory of a node: `granted` is what a check may read, and `outside` is next to it.
struct NodeFiles(TempDir);

impl NodeFiles {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let granted = root.path().join("granted");
        fs::create_dir_all(granted.join("directory")).unwrap();
        fs::create_dir(root.path().join("other")).unwrap();
        fs::write(root.path().join("outside"), "secret").unwrap();
        fs::write(granted.join("file"), "text").unwrap();
        symlink("file", granted.join("link")).unwrap();
        symlink("../outside", granted.join("link-out")).unwrap();
        symlink("../other", granted.join("directory-out")).unwrap();
        fs::File::create(granted.join("endless")).unwrap().set_len(1 << 40).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(rustix::fs::CWD, granted.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Self(root)
    }

    fn granted(&self) -> std::path::PathBuf {
        self.0.path().join("granted")
    }

    /// Returns the names in the granted directory, and asserts that the file has its content.
    fn assert_unchanged(&self) {
        let mut names: Vec<_> = fs::read_dir(self.granted()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["directory", "directory-out", "endless", "file", "link", "link-out", "pipe"]);
        assert_eq!(fs::read_to_string(self.granted().join("file")).unwrap(), "text");
    }
}

/// Receives the output of a check.
#[derive(Default)]
struct Collected {
    items: Vec<FlatItem>,
    progress: Vec<CheckProgress>,
}

impl ItemSink for Collected {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.items.item(item)
    }
}

impl CheckSink for Collected {
    fn progress(&mut self, progress: CheckProgress) -> io::Result<()> {
        self.progress.push(progress);
        Ok(())
    }
}

/// A cluster with this number of pages, each with one node.
struct Nodes(usize);

impl ClusterReader for Nodes {
    fn list(&mut self, query: &ObjectQuery, token: Option<&str>) -> Result<ObjectPage, String> {
        assert_eq!((query.api_version.as_str(), query.resource.as_str()), ("v1", "nodes"));
        let page: usize = token.map_or(0, |token| token.parse().unwrap());
        let node = format!(r#"{{"metadata":{{"name":"node-{page}"}},"pad":"{}"}}"#, "x".repeat(1000));
        Ok(ObjectPage { objects: vec![node], next: (page + 1 < self.0).then(|| (page + 1).to_string()) })
    }

    fn get(&mut self, _: &ObjectQuery, name: &str) -> Result<Option<String>, String> {
        Ok(Some(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)))
    }
}

pub(crate) struct Called {
    pub(crate) result: Result<CallStats, ModuleFailure>,
    out: Collected,
    log: Vec<(LogLevel, String)>,
}

impl Called {
    /// Returns the outcomes of all attempts.
    pub(crate) fn outcomes(&self) -> Vec<&str> {
        if let Err(error) = &self.result {
            panic!("{error}: {:?}", self.log);
        }
        self.out.items.iter().map(|item| item.meta.get("outcome").map_or("", String::as_str)).collect()
    }

    #[track_caller]
    pub(crate) fn fails(&self, sentence: &str) {
        assert_eq!(self.result.as_ref().unwrap_err().to_string(), sentence);
    }
}

fn directory(path: &str, source: impl AsRef<Path>) -> Directory {
    Directory { path: path.to_owned(), source: source.as_ref().to_owned() }
}

fn run_with(
    behaviour: Behaviour,
    node: &NodeFiles,
    cluster: Option<Box<dyn ClusterReader>>,
    limits: &ModuleLimits,
) -> Called {
    let (mut out, mut log) = (Collected::default(), Vec::new());
    let call = RunCheck {
        plugin: &plugin(behaviour),
        directories: vec![
            directory("/granted", node.granted()),
            directory("/proc", "/proc"),
            directory("/dev", "/dev"),
            directory("/missing", node.0.path().join("missing")),
        ],
        env: vec![("GRANTED".to_owned(), "value".to_owned())],
        now: None,
        cluster,
        network: None,
        owners: None,
        limits,
    };
    let result = misbehave().run_check(call, &mut out, &mut log);
    Called { result, out, log }
}

/// Runs a check that may reach hosts and nothing else.
pub(crate) fn run_on_network(behaviour: Behaviour, network: Option<Box<dyn Network>>, limits: &ModuleLimits) -> Called {
    let (mut out, mut log) = (Collected::default(), Vec::new());
    let plugin = &plugin(behaviour);
    // `/granted` is where the guest looks for what it tries.
    let directories = vec![directory("/granted", "/proc/self")];
    let call =
        RunCheck { plugin, directories, env: Vec::new(), now: None, cluster: None, network, owners: None, limits };
    let result = misbehave().run_check(call, &mut out, &mut log);
    Called { result, out, log }
}

fn run(behaviour: Behaviour, node: &NodeFiles) -> Called {
    run_with(behaviour, node, Some(Box::new(Nodes(3))), &ModuleLimits::default())
}

pub(crate) fn few_bytes() -> ModuleLimits {
    ModuleLimits { input_bytes: 1 << 20, ..ModuleLimits::default() }
}

#[test]
fn a_check_reads_what_is_granted() {
    let node = NodeFiles::new();
    fs::remove_file(node.granted().join("endless")).unwrap();
    let called = run(Behaviour::Behave, &node);
    let outcomes = called.outcomes();
    let comm = fs::read_to_string("/proc/self/comm").unwrap();
    assert!(!comm.is_empty());
    let not_granted = "failed to read `/missing/file`: no granted directory contains it";
    assert_eq!(
        outcomes[..5],
        [
            "Directory",
            "failed to read `/granted/directory-out`: not permitted",
            "text",
            "text",
            "failed to read `/granted/link-out`: not permitted"
        ]
    );
    assert_eq!(outcomes[5], "Other");
    assert!(!outcomes[6].is_empty() && !outcomes[6].starts_with("failed"), "{outcomes:?}");
    assert_eq!(outcomes[7..], [not_granted, "value", "node-0", "node-1", "node-2", "true"]);
    let half = CheckProgress { completed: 1, total: 2, message: "half".to_owned() };
    assert_eq!(called.out.progress, [half]);
    assert_eq!(called.log, [(LogLevel::Warning, "the granted directory `/missing` does not exist".to_owned())]);
    assert!(called.result.unwrap().input_bytes > 3000);
}

#[test]
fn a_granted_path_that_is_not_a_directory_is_an_error() {
    let node = NodeFiles::new();
    let call = RunCheck {
        plugin: &plugin(Behaviour::Behave),
        directories: vec![directory("/granted", node.granted().join("file"))],
        env: Vec::new(),
        now: None,
        cluster: None,
        network: None,
        owners: None,
        limits: &ModuleLimits::default(),
    };
    let error = misbehave().run_check(call, &mut Collected::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "failed to run the module: failed to open `/granted`: not a directory");
}

pub(crate) fn only_a_check_can_read_the_cluster(behaviour: Behaviour) {
    let called = support::run(behaviour, Vec::new(), &ModuleLimits::default());
    let outcome = called.items.first().and_then(|item| item.meta.get("outcome"));
    assert_eq!(outcome.map(String::as_str), Some("only a check can read objects of the cluster"));
}

pub(crate) fn only_a_check_can_report_progress(behaviour: Behaviour) {
    let called = support::run(behaviour, Vec::new(), &ModuleLimits::default());
    let rule = "module `misbehave` violated the contract: only a check can report progress";
    assert_eq!(called.failure(), format!("{rule}: `report` was called in another role"));
}

pub(crate) fn a_parent_directory_is_not_granted(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes(), ["failed to read `/granted/../outside`: not permitted"]);
}

pub(crate) fn absolute_paths_lead_nowhere(behaviour: Behaviour) {
    assert_eq!(run(behaviour, &NodeFiles::new()).outcomes(), ["not-permitted"]);
}

pub(crate) fn links_lead_nowhere_outside(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes(), ["failed to read `/granted/link-out`: not permitted"]);
}

pub(crate) fn links_to_directories_lead_nowhere_outside(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes(), ["failed to read `/granted/directory-out`: not permitted"]);
}

pub(crate) fn links_of_processes_lead_nowhere(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes().len(), 4);
    for outcome in called.outcomes() {
        assert!(outcome.starts_with("failed to read `/proc/"), "{outcome}");
    }
}

pub(crate) fn memory_and_environment_of_processes_stay_closed(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes().len(), 5);
    for outcome in called.outcomes() {
        // Not every kernel has the last file.
        let refused = outcome.ends_with(": not permitted") || outcome.contains("/kcore`: it does not exist");
        assert!(refused, "{outcome}");
    }
}

pub(crate) fn pipes_are_not_opened(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes(), ["failed to read `/granted/pipe`: not permitted"]);
}

pub(crate) fn devices_are_not_opened(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    for outcome in called.outcomes() {
        let refused = outcome.ends_with(": not permitted") || outcome.contains("/tty`: it does not exist");
        assert!(refused, "{outcome}");
    }
}

pub(crate) fn files_without_end_end_at_the_limit(behaviour: Behaviour) {
    let called = run_with(behaviour, &NodeFiles::new(), None, &few_bytes());
    called.fails("module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
}

pub(crate) fn streams_without_end_end_at_the_limit(behaviour: Behaviour) {
    let called = run_with(behaviour, &NodeFiles::new(), None, &few_bytes());
    called.fails("module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
}

pub(crate) fn entries_of_directories_count(behaviour: Behaviour) {
    let called = run_with(behaviour, &NodeFiles::new(), None, &few_bytes());
    called.fails("module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
}

#[track_caller]
fn changes_nothing(behaviour: Behaviour, attempts: usize) {
    let node = NodeFiles::new();
    let called = run(behaviour, &node);
    assert_eq!(called.outcomes(), vec!["not-permitted"; attempts]);
    node.assert_unchanged();
}

pub(crate) fn files_are_not_written(behaviour: Behaviour) {
    changes_nothing(behaviour, 4);
}

pub(crate) fn files_are_not_created(behaviour: Behaviour) {
    changes_nothing(behaviour, 4);
}

pub(crate) fn files_are_not_removed(behaviour: Behaviour) {
    changes_nothing(behaviour, 2);
}

pub(crate) fn files_are_not_renamed(behaviour: Behaviour) {
    changes_nothing(behaviour, 1);
}

pub(crate) fn owners_are_those_of_granted_files(behaviour: Behaviour) {
    let node = NodeFiles::new();
    let (file, pipe) = (node.granted().join("file"), node.granted().join("pipe"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(&pipe, fs::Permissions::from_mode(0o600)).unwrap();
    let uid = fs::metadata(&file).unwrap().uid();
    let called = run(behaviour, &node);
    let outcomes = called.outcomes();
    let [file, pipe, missing, outside @ .., elsewhere] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!([*file, *pipe], [format!("640 {uid}"), format!("600 {uid}")]);
    assert_eq!(*missing, "failed to read `/granted/none`: it does not exist");
    assert_eq!(outside.len(), 4);
    assert!(outside.iter().all(|text| text.contains("failed to read the owner of")), "{outcomes:?}");
    assert!(elsewhere.ends_with("no granted directory contains `/etc`"), "{outcomes:?}");
}

pub(crate) fn only_granted_variables_are_set(behaviour: Behaviour) {
    assert!(std::env::var_os("PATH").is_some(), "the host has what the check must not see");
    assert_eq!(run(behaviour, &NodeFiles::new()).outcomes(), ["value", "not set", "not set"]);
}

pub(crate) fn open_files_are_bounded(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    called.fails("module `misbehave` exceeded its limit `open-files`: 256 files");
    let hint = called.result.unwrap_err().hint();
    assert_eq!(hint, Some("this limit is fixed: close files and directories that the check has read"));
}

pub(crate) fn open_streams_are_bounded(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    called.fails("module `misbehave` exceeded its limit `open-files`: 256 files");
}

pub(crate) fn open_lists_of_objects_are_bounded(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    assert_eq!(called.outcomes(), ["16 lists are open: drop one before you open another"]);
    assert_eq!(called.out.items.first().map(|item| item.name.as_str()), Some("16"));
}

pub(crate) fn lists_of_objects_end_at_the_limit(behaviour: Behaviour) {
    let called = run_with(behaviour, &NodeFiles::new(), Some(Box::new(Nodes(usize::MAX))), &few_bytes());
    called.fails("module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
}

pub(crate) fn objects_need_a_grant(behaviour: Behaviour) {
    let called = run_with(behaviour, &NodeFiles::new(), None, &ModuleLimits::default());
    let reason =
        "the definition grants no objects of the cluster: add `nodes` of `v1` to `plumbline.grants.kubernetes`";
    assert_eq!(called.outcomes(), [reason; 2]);
}

pub(crate) fn progress_arrives_at_a_bounded_rate(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    let wall = called.result.as_ref().unwrap().wall;
    let reports = called.out.progress;
    assert!(reports.len() as u128 <= 2 + wall.as_millis() / 100, "{} in {wall:?}", reports.len());
    assert_eq!(reports.last().unwrap().completed, 100_000, "the last one arrives");
    assert_eq!(called.out.items.len(), 1);
}

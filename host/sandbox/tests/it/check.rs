//! Tests of the role `check`: what is granted, and everything that is not.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use plumbline_core::{FlatItem, ModuleLimits, Rights};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{
    CallStats, CheckProgress, CheckSink, ClusterReader, Directory, ItemSink, LogLevel, ModuleFailure, Network,
    ObjectPage, ObjectQuery, PluginInfo, RunCheck,
};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use serde_json::json;
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
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(CWD, granted.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
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
    /// Learns of each item.
    arrived: Option<Sender<()>>,
}

impl ItemSink for Collected {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        if let Some(arrived) = &self.arrived {
            // Nobody waits for further items.
            let _ = arrived.send(());
        }
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

/// A cluster in which every object exists, and of which these rights are granted.
struct Partial(Rights);

impl ClusterReader for Partial {
    fn list(&mut self, query: &ObjectQuery, _: Option<&str>) -> Result<ObjectPage, String> {
        Ok(ObjectPage { objects: self.get(query, "a")?.into_iter().collect(), next: None })
    }

    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<String>, String> {
        let ObjectQuery { api_version, resource, namespace, .. } = query;
        self.0.admit(api_version, resource, namespace.as_deref()).map_err(|error| error.to_string())?;
        Ok(Some(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)))
    }
}

/// A cluster that answers when three items have arrived.
struct Waiting(Receiver<()>);

impl ClusterReader for Waiting {
    fn list(&mut self, _: &ObjectQuery, _: Option<&str>) -> Result<ObjectPage, String> {
        let arrived = (0..3).filter(|_| self.0.recv_timeout(Duration::from_secs(60)).is_ok()).count();
        Err(format!("{arrived} items have arrived"))
    }

    fn get(&mut self, _: &ObjectQuery, _: &str) -> Result<Option<String>, String> {
        Ok(None)
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
    Directory { path: path.to_owned(), source: source.as_ref().to_owned(), root: None }
}

fn run_with(
    behaviour: Behaviour,
    node: &NodeFiles,
    cluster: Option<Box<dyn ClusterReader>>,
    limits: &ModuleLimits,
) -> Called {
    run_plugin(&plugin(behaviour), node, cluster, limits, Collected::default())
}

fn run_plugin(
    plugin: &PluginInfo,
    node: &NodeFiles,
    cluster: Option<Box<dyn ClusterReader>>,
    limits: &ModuleLimits,
    mut out: Collected,
) -> Called {
    let mut log = Vec::new();
    let call = RunCheck {
        plugin,
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
fn nothing_is_permitted_in_a_granted_directory_that_cannot_be_opened() {
    let node = NodeFiles::new();
    symlink(node.granted(), node.0.path().join("moved")).unwrap();
    let moved = |path: &str| Directory {
        path: path.to_owned(),
        source: node.0.path().join("moved"),
        root: Some(node.0.path().to_owned()),
    };
    for denied in [directory("/granted", node.granted().join("file")), moved("/granted")] {
        // A missing file would let a check conclude that the node does not have it.
        for (behaviour, outcome) in [
            (Behaviour::ReadLink, "failed to read `/granted/link-out`: not permitted"),
            (Behaviour::ListLink, "failed to read `/granted/directory-out`: not permitted"),
        ] {
            let call = RunCheck {
                plugin: &plugin(behaviour),
                directories: vec![denied.clone()],
                env: Vec::new(),
                now: None,
                cluster: None,
                network: None,
                owners: None,
                limits: &ModuleLimits::default(),
            };
            let (mut out, mut log) = (Collected::default(), Vec::new());
            let result = misbehave().run_check(call, &mut out, &mut log);
            assert!(log.iter().any(|(_, line)| line.starts_with("failed to open the granted directory `/granted`: ")));
            assert_eq!(Called { result, out, log }.outcomes(), [outcome]);
        }
    }
}

#[test]
fn what_came_before_the_end_of_a_check_is_kept() {
    for (behaviour, wall_seconds, sentence) in [
        (Behaviour::LoopHalfway, 1, "module `misbehave` exceeded its limit `wall-seconds`: 1 second"),
        (Behaviour::PanicHalfway, 300, "module `misbehave` crashed: it panicked or aborted (`unreachable`)"),
        (Behaviour::RefuseHalfway, 300, "the rest cannot be checked"),
    ] {
        let limits = ModuleLimits { wall_seconds, ..ModuleLimits::default() };
        let called = run_with(behaviour, &NodeFiles::new(), None, &limits);
        called.fails(sentence);
        assert_eq!(called.out.items.len(), 3, "{behaviour:?}");
    }
}

#[test]
fn time_stack_and_memory_of_a_check_are_bounded() {
    for (behaviour, limit) in [
        (Behaviour::EndlessLoop, "`wall-seconds`: 1 second"),
        (Behaviour::Recursion, "`stack`: 1 MiB"),
        (Behaviour::MemoryGrowth, "`memory`: 256 MiB"),
    ] {
        let wall_seconds = if behaviour == Behaviour::EndlessLoop { 1 } else { 300 };
        let limits = ModuleLimits { wall_seconds, ..ModuleLimits::default() };
        let called = run_with(behaviour, &NodeFiles::new(), None, &limits);
        called.fails(&format!("module `misbehave` exceeded its limit {limit}"));
    }
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

pub(crate) fn a_named_file_is_read_only_if_it_is_granted(behaviour: Behaviour) {
    let node = NodeFiles::new();
    let elsewhere = "failed to read `/etc/passwd`: no granted directory contains it";
    for (file, outcome) in [("/granted/file", "text"), ("/etc/passwd", elsewhere)] {
        let mut plugin = plugin(behaviour);
        plugin.options = json!({"behaviour": behaviour.name(), "file": file});
        let called = run_plugin(&plugin, &node, None, &ModuleLimits::default(), Collected::default());
        assert_eq!(called.outcomes(), ["", "", "", outcome]);
    }
}

/// Exchanges a file with a link out of the granted directory, and with a pipe, and a directory with
/// a link to another one, until the check has ended.
fn exchange(granted: &Path, ended: &AtomicBool) {
    let swap = |one: &str, other: &str| {
        rustix::fs::renameat_with(CWD, granted.join(one), CWD, granted.join(other), RenameFlags::EXCHANGE).unwrap();
    };
    while !ended.load(Ordering::Relaxed) {
        for (one, other) in [("raced", "link-out"), ("raced", "pipe"), ("raced-directory", "directory-out")] {
            swap(one, other);
            // Whoever opens the pipe waits for its other end.
            drop(rustix::fs::open(granted.join("raced"), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()));
            swap(one, other);
        }
    }
}

pub(crate) fn files_that_are_replaced_while_they_are_opened_lead_nowhere(behaviour: Behaviour) {
    let node = NodeFiles::new();
    let granted = node.granted();
    fs::create_dir(granted.join("raced-directory")).unwrap();
    for (file, text) in [("raced", "text"), ("raced-directory/file", "text"), ("../other/file", "secret")] {
        fs::write(granted.join(file), text).unwrap();
    }
    // A failure to load it would leave the thread running.
    misbehave();
    let (ended, limits) = (AtomicBool::new(false), ModuleLimits { wall_seconds: 60, ..ModuleLimits::default() });
    let called = thread::scope(|scope| {
        scope.spawn(|| exchange(&granted, &ended));
        let called = run_with(behaviour, &node, None, &limits);
        ended.store(true, Ordering::Relaxed);
        called
    });
    // The check has seen both for each of its paths.
    let (opened, refused): (Vec<&str>, _) = called.outcomes().into_iter().partition(|text| !text.starts_with("failed"));
    assert_eq!(opened, ["text", "text"]);
    assert!(refused.len() >= 2 && refused.iter().all(|text| text.contains("`/granted/raced")), "{refused:?}");
}

/// The variable of a process that has its own mounts.
const OWN_MOUNTS: &str = "PLUMBLINE_TEST_OWN_MOUNTS";

/// Runs a test of this program again, in a process with its own mounts.
fn with_own_mounts(test: &str) {
    let unshare = |arguments: &[&str]| -> io::Result<Output> {
        Command::new("unshare").arg("--mount").args(arguments).env(OWN_MOUNTS, "1").output()
    };
    match unshare(&["mount", "--bind", "/tmp", "/tmp"]) {
        Ok(output) if output.status.success() => {}
        Ok(output) => return eprintln!("SKIPPED: {test}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return eprintln!("SKIPPED: {test}: failed to start `unshare`: {error}"),
    }
    let program = std::env::current_exe().unwrap();
    let output = unshare(&[program.to_str().unwrap(), "--exact", test, "--nocapture"]).unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

pub(crate) fn mounts_belong_to_the_grant_and_lead_nowhere_else(behaviour: Behaviour) {
    if std::env::var_os(OWN_MOUNTS).is_none() {
        return with_own_mounts("misbehave::mounts_belong_to_the_grant_and_lead_nowhere_else");
    }
    let node = NodeFiles::new();
    let (other, directory) = (node.0.path().join("other"), node.granted().join("directory"));
    fs::write(other.join("file"), "mounted").unwrap();
    symlink("../../outside", other.join("link-out")).unwrap();
    symlink(node.0.path().join("outside"), other.join("absolute-link")).unwrap();
    assert!(Command::new("mount").arg("--bind").args([&other, &directory]).status().unwrap().success());
    let called = run(behaviour, &node);
    // Without it, the directory of the test could not be removed.
    assert!(Command::new("umount").arg(&directory).status().unwrap().success());
    let refused = |path: &str| format!("failed to read `/granted/directory/{path}`: not permitted");
    let leaving = ["../../outside", "link-out", "absolute-link"].map(refused);
    assert_eq!(called.outcomes(), ["mounted", &leaving[0], &leaving[1], &leaving[2]]);
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

pub(crate) fn a_grant_of_objects_covers_no_others(behaviour: Behaviour) {
    let rights = json!({"kubernetes": [{"api-version": "v1", "resources": ["pods"], "namespaces": ["granted"]}]});
    let cluster = Partial(serde_json::from_value(rights).unwrap());
    let called = run_with(behaviour, &NodeFiles::new(), Some(Box::new(cluster)), &ModuleLimits::default());
    let outcomes = called.outcomes();
    let (granted, others) = outcomes.split_at(2);
    assert_eq!(granted, ["a", "a"]);
    assert_eq!(others.len(), 18);
    assert!(others.iter().all(|text| text.contains("is not granted")), "{others:?}");
}

pub(crate) fn items_arrive_while_a_check_waits(behaviour: Behaviour) {
    let (arrived, items) = channel();
    let out = Collected { arrived: Some(arrived), ..Collected::default() };
    let cluster: Box<dyn ClusterReader> = Box::new(Waiting(items));
    let called = run_plugin(&plugin(behaviour), &NodeFiles::new(), Some(cluster), &ModuleLimits::default(), out);
    assert_eq!(called.outcomes(), ["", "", "", "3 items have arrived", "none"]);
}

pub(crate) fn progress_arrives_at_a_bounded_rate(behaviour: Behaviour) {
    let called = run(behaviour, &NodeFiles::new());
    let wall = called.result.as_ref().unwrap().wall;
    let reports = called.out.progress;
    assert!(reports.len() as u128 <= 2 + wall.as_millis() / 100, "{} in {wall:?}", reports.len());
    assert_eq!(reports.last().unwrap().completed, 100_000, "the last one arrives");
    assert_eq!(called.out.items.len(), 1);
}

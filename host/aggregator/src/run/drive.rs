//! Launching of plugins: groups in order, and each plugin with its own deadline. A rerun waits for
//! another plugin, and runs its failed tests again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::definition::{Definition, Reruns};
use plumbline_core::ledger::Event;
use plumbline_core::rollup::{is_failure, worst};
use plumbline_core::run_status::MAX_REASON;
use plumbline_core::text::excerpt;
use plumbline_core::{PluginName, ResultKey, go_quote};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::patience::StartPatience;
use crate::dispatcher::{DispatchError, Dispatcher, Launch, Report};
use crate::postprocess::{LONG_NAME, leaves, no_details};
use crate::state::State;

/// Maximum size of the expression of a rerun: about 700 names. Linux allows 128 KiB for a variable.
const MAX_FOCUS: usize = 100 << 10;
/// Maximum size of a text of an item that is read, in bytes: more than the error of a module, 16
/// KiB, with each byte escaped. Without its error, an item would look like a test.
const MAX_TEXT: usize = 128 << 10;

pub(super) struct PendingLaunch {
    pub(super) launch: Launch,
    pub(super) timeout: Option<Duration>,
    /// Deadline of the whole run.
    pub(super) deadline: Option<Timestamp>,
    /// How long workers may take to send partial results after the timeout.
    pub(super) collect: Duration,
    /// How long the launch waits for an environment that does not answer.
    pub(super) patience: StartPatience,
    /// The plugin whose failed tests it reruns, if it is a rerun.
    pub(super) rerun: Option<Rerun>,
}

impl PendingLaunch {
    fn plugin(&self) -> &PluginName {
        &self.launch.definition.name
    }

    /// Returns the remaining time of the plugin since its first launch, at most the rest of the
    /// run's.
    fn time(&self, state: &State) -> Option<Duration> {
        remaining(state, self.plugin(), self.timeout, self.deadline)
    }
}

fn remaining(
    state: &State,
    plugin: &PluginName,
    timeout: Option<Duration>,
    deadline: Option<Timestamp>,
) -> Option<Duration> {
    let now = state.now();
    let until = |at: Timestamp| Duration::try_from(at.duration_since(now)).unwrap_or_default();
    let launched = state.read(|ledger| ledger.launched(plugin)).unwrap_or(now);
    let passed = Duration::try_from(now.duration_since(launched)).unwrap_or_default();
    let own = timeout.map(|timeout| timeout.saturating_sub(passed));
    own.into_iter().chain(deadline.map(until)).min()
}

/// Launches every group in order, and returns when the last plugin is complete. Dropping it stops
/// the deadlines, and the dispatcher must stop what is running.
pub(super) async fn drive(
    plugins: Vec<PendingLaunch>,
    state: State,
    dispatcher: Arc<dyn Dispatcher>,
    reports: mpsc::Sender<Report>,
) {
    let start = Instant::now();
    let mut groups: BTreeMap<i64, Vec<PendingLaunch>> = BTreeMap::new();
    for pending in plugins {
        groups.entry(pending.launch.definition.order.into()).or_default().push(pending);
    }
    for group in groups.into_values() {
        let mut running = JoinSet::new();
        for pending in group {
            running.spawn(launch(pending, start, state.clone(), Arc::clone(&dispatcher), reports.clone()));
        }
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended {
                tracing::error!("the task that watches a plugin ended: {error}");
            }
        }
    }
}

/// Launches a plugin, and returns when it is complete. This process has driven the run since `start`.
async fn launch(
    mut pending: PendingLaunch,
    start: Instant,
    state: State,
    dispatcher: Arc<dyn Dispatcher>,
    reports: mpsc::Sender<Report>,
) {
    let plugin = pending.plugin().clone();
    if is_complete(&plugin, &state) {
        return;
    }
    if let Some(rerun) = &pending.rerun {
        match rerun.focus(&state).await {
            Ok(Focus::On { expression, tests }) => {
                tracing::info!(%plugin, tests, "reruns failed tests of `{}`", rerun.reruns.plugin);
                pending.launch.definition = Arc::new(rerun.focused(&pending.launch.definition, &expression));
            }
            Ok(Focus::Nothing(reason)) => return skip_plugin(&plugin, reason, &state),
            Err(error) => {
                let other = &rerun.reruns.plugin;
                let reason =
                    format!("failed to read the failed tests of plugin `{other}` from its result tree: {error}");
                tracing::error!(%plugin, "not launched: {reason}");
                return record(&state, Event::LaunchFailed { plugin, reason });
            }
        }
        // The run may have been interrupted meanwhile.
        if is_complete(&plugin, &state) {
            return;
        }
    }
    // The workers of an earlier launch may be about to send their next heartbeat.
    let is_known = state.read(|ledger| ledger.launched(&plugin).is_some());
    let patience = Patience { heard: pending.collect, silent: is_known.then(|| start + pending.collect) };
    if pending.time(&state).is_some_and(|left| left.is_zero()) {
        tracing::warn!(%plugin, "not launched: the timeout of the plugin or of the run has expired");
        return time_out(plugin, &state, patience).await;
    }
    record(&state, Event::Launched { plugin: plugin.clone() });
    tracing::info!(%plugin, "launched");
    if let Err(error) = dispatch(&pending, &state, dispatcher.as_ref(), reports).await {
        let patience = is_known.then_some(patience);
        return give_up(&pending, error, patience, &state, dispatcher.as_ref()).await;
    }
    let complete = complete(&plugin, &state);
    match pending.time(&state) {
        None => complete.await,
        Some(timeout) => {
            if tokio::time::timeout(timeout, complete).await.is_err() {
                tracing::warn!(%plugin, "no result after {} s", timeout.as_secs());
                time_out(plugin, &state, patience).await;
            }
        }
    }
}

/// Ends a plugin whose launch failed for good. `patience` is for workers of an earlier launch.
async fn give_up(
    pending: &PendingLaunch,
    error: DispatchError,
    patience: Option<Patience>,
    state: &State,
    dispatcher: &dyn Dispatcher,
) {
    let plugin = pending.plugin();
    tracing::error!(%plugin, "failed to launch: {error}");
    if let Some(patience) = patience {
        collect(plugin, state, patience).await;
    }
    // How the executions of a complete plugin ended is still to be learned.
    if !is_complete(plugin, state) {
        dispatcher.abandon(&pending.launch).await;
    }
    record(state, Event::LaunchFailed { plugin: plugin.clone(), reason: error.message });
}

/// Launches the plugin, and tries again while the environment does not answer, until its time is over.
/// Its results are delayed meanwhile.
async fn dispatch(
    pending: &PendingLaunch,
    state: &State,
    dispatcher: &dyn Dispatcher,
    reports: mpsc::Sender<Report>,
) -> Result<(), DispatchError> {
    let plugin = pending.plugin();
    let wait = pending.patience.start_within(pending.time(state));
    let mut delay: Option<String> = None;
    loop {
        let error = match dispatcher.launch(pending.launch.clone(), reports.clone()).await {
            Err(error) => error,
            Ok(()) => {
                if let Some(reason) = &delay {
                    end_delay(&pending.launch, state, reason);
                }
                return Ok(());
            }
        };
        let Some(pause) = wait.pause_after(&error) else { return Err(error) };
        tracing::warn!(%plugin, "the launch is delayed: {error}");
        // The ledger keeps this excerpt.
        let reason = excerpt(&format!("the launch is delayed: {error}"), MAX_REASON);
        for key in pending.launch.missing.iter().filter(|key| state.read(|ledger| ledger.is_missing(key))) {
            record(state, Event::Problem { key: key.clone(), reason: Some(reason.clone()) });
        }
        delay = Some(reason);
        // An interruption completes the plugin, and nothing more is to be launched.
        if tokio::time::timeout(pause, complete(plugin, state)).await.is_ok() {
            return Ok(());
        }
    }
}

/// Records that the launch is not delayed any more. What a monitor has reported meanwhile stays, because it
/// reports only changes.
fn end_delay(launch: &Launch, state: &State, reason: &str) {
    for key in launch.missing.iter().filter(|key| state.read(|ledger| ledger.problem(key) == Some(reason))) {
        record(state, Event::Problem { key: key.clone(), reason: None });
    }
}

/// Skips a plugin. One that was launched before a restart has expected results, and fails.
fn skip_plugin(plugin: &PluginName, reason: String, state: &State) {
    let plugin = plugin.clone();
    if state.read(|ledger| ledger.launched(&plugin).is_some()) {
        tracing::error!(%plugin, "launched before a restart, so it fails instead of being skipped: {reason}");
        return record(state, Event::LaunchFailed { plugin, reason });
    }
    tracing::info!(%plugin, "skipped: {reason}");
    record(state, Event::Skipped { plugin, reason });
}

/// How long workers may take to send partial results.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Time for workers that were heard. Zero means that no worker is asked.
    heard: Duration,
    /// Until when workers that this process has not heard are awaited. `None` means that there are
    /// none: an earlier process did not launch the plugin.
    silent: Option<Instant>,
}

/// Asks for partial results, and records that the plugin timed out.
async fn time_out(plugin: PluginName, state: &State, patience: Patience) {
    collect(&plugin, state, patience).await;
    record(state, Event::TimedOut { plugin });
}

/// Asks the workers for partial results, and waits for those that were heard or may still be.
async fn collect(plugin: &PluginName, state: &State, patience: Patience) {
    if patience.heard.is_zero() {
        return;
    }
    state.ask_partial(plugin);
    let mut changes = state.changes();
    let collected = async {
        loop {
            let silent = patience.silent.filter(|until| *until > Instant::now());
            let awaited: Vec<ResultKey> = state.read(|ledger| {
                let missing = ledger.missing(plugin).into_iter();
                missing.filter(|key| silent.is_some() || ledger.last_heard(key).is_some()).cloned().collect()
            });
            if !awaited.iter().any(|key| state.wants_partial(key)) {
                return;
            }
            let is_over = async {
                match silent {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = is_over => {}
            }
        }
    };
    // A worker that has not sent anything by then has nothing, or is gone.
    let _ = tokio::time::timeout(patience.heard, collected).await;
    state.end_partial(plugin);
}

async fn complete(plugin: &PluginName, state: &State) {
    let mut changes = state.changes();
    while !is_complete(plugin, state) {
        if changes.changed().await.is_err() {
            return;
        }
    }
}

fn is_complete(plugin: &PluginName, state: &State) -> bool {
    state.read(|ledger| ledger.is_plugin_complete(plugin, state.now()))
}

/// Records an event. A rejection means that the state has changed in between.
pub(super) fn record(state: &State, event: Event) {
    if let Err(error) = state.apply(event) {
        tracing::warn!("not recorded: {error}");
    }
}

#[derive(Debug, Clone)]
pub(super) struct Rerun {
    pub(super) reruns: Reruns,
    /// Path of the other plugin's result tree.
    pub(super) tree: PathBuf,
}

/// Tests to rerun.
#[derive(Debug, PartialEq, Eq)]
enum Focus {
    /// An expression that matches these tests.
    On { expression: String, tests: usize },
    /// No tests, with the reason.
    Nothing(String),
}

impl Rerun {
    /// Waits for the other plugin's tree, and returns the tests to run.
    async fn focus(&self, state: &State) -> io::Result<Focus> {
        if let Some(reason) = self.settled(state).await {
            return Ok(Focus::Nothing(reason));
        }
        let (reruns, tree) = (self.reruns.clone(), self.tree.clone());
        let read = tokio::task::spawn_blocking(move || focus(&reruns, &tree)).await;
        read.map_err(io::Error::other).flatten()
    }

    /// Returns the definition with the expression in its environment. Nothing else changes, because
    /// in a cluster its name identifies it.
    fn focused(&self, definition: &Definition, expression: &str) -> Definition {
        let spec = definition.spec.with_variable(&self.reruns.focus, expression, &self.reruns.clear);
        Definition { spec, ..definition.clone() }
    }

    /// Waits until the other plugin is complete. Returns why there is nothing to rerun, if known.
    async fn settled(&self, state: &State) -> Option<String> {
        let other = &self.reruns.plugin;
        let mut changes = state.changes();
        loop {
            changes.mark_unchanged();
            let settled = state.read(|ledger| {
                if let Some(why) = ledger.skipped(other) {
                    return Some(Some(format!("plugin `{other}` was skipped: {why}")));
                }
                ledger.plugin_result(other)?;
                let error = ledger.keys_of(other).find_map(|key| ledger.error(key));
                Some(error.map(|error| format!("plugin `{other}` has no results with failed tests: {}", error.error)))
            });
            match settled {
                Some(reason) => return reason,
                None if changes.changed().await.is_err() => return std::future::pending().await,
                None => {}
            }
        }
    }
}

/// Returns the failed tests in the tree at `tree`: for a resumed rerun, those that it was launched
/// with.
fn focus(reruns: &Reruns, tree: &Path) -> io::Result<Focus> {
    let other: &PluginName = &reruns.plugin;
    let mut names = BTreeSet::new();
    let (mut bytes, mut failed) = (0_usize, 0_u64);
    let (mut fits, mut unread) = (true, false);
    leaves(BufReader::new(File::open(tree)?), MAX_TEXT, no_details, |leaf| {
        let is_test = leaf.is_test();
        let status = leaf.item.status.unwrap_or_default();
        if !is_test || !is_failure(&status) {
            unread |= !is_test && worst(&status).is_some();
            return Ok(());
        }
        failed += 1;
        if leaf.item.name == LONG_NAME {
            fits = false;
            return Ok(());
        }
        let plain = leaf.item.name.trim_start();
        let name = go_quote(plain.strip_prefix(reruns.strip.as_str()).unwrap_or(plain).trim());
        // An empty expression would match every test.
        if fits && !name.is_empty() && !names.contains(&name) {
            bytes = bytes.saturating_add(name.len() + 1);
            fits = bytes <= MAX_FOCUS + 1;
            names.insert(name);
        }
        Ok(())
    })?;
    Ok(if !fits {
        let names = format!("their names exceed the limit of {} KiB for a variable", MAX_FOCUS >> 10);
        Focus::Nothing(format!("{failed} tests failed in `{other}`: {names}"))
    } else if !names.is_empty() {
        let tests = names.len();
        Focus::On { expression: names.into_iter().collect::<Vec<_>>().join("|"), tests }
    } else if unread {
        Focus::Nothing(format!("the failed tests of `{other}` are unknown: some of its results are unreadable"))
    } else {
        Focus::Nothing(format!("no test failed in `{other}`"))
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use plumbline_archive::disk::Disk;
    use plumbline_core::ledger::Ledger;

    use super::*;
    use crate::journal::Journal;

    /// Returns what is left of a minute after a restart, for a plugin that was launched at `at`. The
    /// last event of the journal is 50 s younger.
    fn left_after_a_restart(at: Timestamp) -> Duration {
        let plugin: PluginName = "p".parse().unwrap();
        let planned = Event::Planned { plugin: plugin.clone(), keys: vec!["p/global".parse().unwrap()] };
        let launched = Event::Launched { plugin: plugin.clone() };
        let ledger =
            Ledger::replay([(at, planned), (at, launched), (at + SignedDuration::from_secs(50), Event::Restarted)]);
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open_on(&Disk::default(), &dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(ledger.unwrap(), journal);
        remaining(&state, &plugin, Some(Duration::from_secs(60)), None).unwrap()
    }

    #[test]
    fn a_timeout_does_not_start_again_after_a_restart() {
        let hour = SignedDuration::from_hours(1);
        assert_eq!(left_after_a_restart(Timestamp::now() - hour), Duration::ZERO);
        let left = left_after_a_restart(Timestamp::now() - SignedDuration::from_secs(30));
        assert!(left <= Duration::from_secs(30), "{left:?}");
        // The clock was set back by an hour while no aggregator ran.
        let left = left_after_a_restart(Timestamp::now() + hour);
        assert!(left <= Duration::from_secs(10), "{left:?}");
    }

    fn reruns() -> Reruns {
        Reruns {
            plugin: "e2e".parse().unwrap(),
            focus: "E2E_FOCUS".to_owned(),
            clear: Vec::new(),
            strip: "[It] ".to_owned(),
        }
    }

    fn of(leaves: &[(&str, &str)]) -> Focus {
        let mut text = String::from("name: e2e\nstatus: failed\nmeta:\n  type: summary\nitems:\n");
        for (name, status) in leaves {
            text.push_str(&format!("- name: {}\n  status: {status}\n", serde_json::json!(name)));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tree.yaml");
        std::fs::write(&path, text).unwrap();
        focus(&reruns(), &path).unwrap()
    }

    #[test]
    fn names_are_stripped_quoted_and_joined() {
        let focus = of(&[
            ("[It] [sig-a] b (c)", "failed"),
            ("[sig-z] late", "timeout"),
            ("[It] fine", "passed"),
            (" [sig-a] b (c) ", "failed"),
            ("[It] ", "failed"),
            ("[sig-z] own", "ERROR"),
            ("left out", "skipped"),
        ]);
        let expression = r"\[sig-a\] b \(c\)|\[sig-z\] late|\[sig-z\] own".to_owned();
        assert_eq!(focus, Focus::On { expression, tests: 3 });
    }

    #[test]
    fn results_that_could_not_be_read_are_not_taken_for_good_ones() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tree.yaml");
        let tree = "name: e2e\nstatus: unknown\nitems:\n- name: junit_01.xml\n  status: unknown\n  meta:\n    error: it ends early\n";
        std::fs::write(&path, tree).unwrap();
        let unreadable = "the failed tests of `e2e` are unknown: some of its results are unreadable".to_owned();
        assert_eq!(focus(&reruns(), &path).unwrap(), Focus::Nothing(unreadable.clone()));
        // The longest error of a module, in a file that is not text.
        let error = "\\u0000".repeat(16 << 10);
        std::fs::write(&path, tree.replace("it ends early", &format!("\"{error}\""))).unwrap();
        assert_eq!(focus(&reruns(), &path).unwrap(), Focus::Nothing(unreadable));
    }

    #[test]
    fn nothing_and_too_much_are_reasons() {
        assert_eq!(of(&[("a", "passed")]), Focus::Nothing("no test failed in `e2e`".to_owned()));
        assert_eq!(of(&[]), Focus::Nothing("no test failed in `e2e`".to_owned()));
        let many: Vec<String> = (0..2_000).map(|n| format!("test {n:04} {}", "x".repeat(60))).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "failed")).collect();
        let Focus::Nothing(reason) = of(&many) else { panic!("it fits") };
        assert!(reason.starts_with("2000 tests failed in `e2e`"), "{reason}");
        let fits = of(&many[..1_400]);
        assert!(matches!(fits, Focus::On { tests: 1_400, expression } if expression.len() <= MAX_FOCUS));
    }
}

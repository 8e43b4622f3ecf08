//! A run as it is shown: one entry per plugin, however many nodes it has.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::GLOBAL;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunStatus};
use plumbline_kubernetes::status::{Seen, Waiting};

use super::stalled::stalled;
use crate::output::one_line;

/// The names of the tests that failed last, of all plugins, which are shown.
const MAX_FAILED: usize = 3;

/// A plugin as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plugin<'a> {
    pub(super) name: String,
    /// Its only entry is for the whole cluster.
    pub(super) is_global: bool,
    /// Expected results.
    pub(super) expected: u64,
    /// Results that are in.
    pub(super) received: u64,
    /// Results that will not come.
    pub(super) missing: u64,
    /// How its tests go: of its only entry, or all together.
    pub(super) tests: Option<Tests>,
    /// How it came out, once that is known of all of it.
    pub(super) result: Option<String>,
    /// A worker of it was heard of.
    pub(super) heard: bool,
    /// What it says, if it is one.
    pub(super) message: String,
    /// For how long its progress has stood still.
    pub(super) stalled: Option<SignedDuration>,
    /// Its pods that do not run.
    pub(super) waiting: Vec<&'a Waiting>,
}

/// How the tests of a plugin go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tests {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// 0 when nobody knows.
    pub(super) total: u64,
}

impl Tests {
    pub(super) fn done(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

impl Plugin<'_> {
    /// Results that nobody waits for any more.
    pub(super) fn settled(&self) -> u64 {
        self.received.saturating_add(self.missing)
    }

    /// What is counted, and out of how many: tests where they tell how many there are, else results.
    pub(super) fn position(&self) -> (u64, u64) {
        match self.tests {
            Some(tests) if tests.total > 0 && self.settled() < self.expected => (tests.done(), tests.total),
            _ => (self.settled(), self.expected),
        }
    }
}

/// The plugins of the run, in the order of its plan.
pub(super) fn plugins(seen: &Seen, now: Timestamp) -> Vec<Plugin<'_>> {
    let mut plugins: Vec<Plugin<'_>> = Vec::new();
    for entry in seen.status.plugins.iter().flatten() {
        let name = one_line(&entry.plugin);
        let at = plugins.iter().position(|plugin| plugin.name == name);
        let place = at.unwrap_or_else(|| {
            plugins.push(Plugin {
                name: name.clone(),
                is_global: entry.node == GLOBAL,
                expected: 0,
                received: 0,
                missing: 0,
                tests: None,
                result: None,
                heard: false,
                message: String::new(),
                stalled: None,
                waiting: seen.waiting.iter().filter(|w| w.plugin.as_ref() == Some(&entry.plugin)).collect(),
            });
            plugins.len() - 1
        });
        if let Some(plugin) = plugins.get_mut(place) {
            add(plugin, &seen.status, entry, now);
        }
    }
    plugins
}

fn add(plugin: &mut Plugin<'_>, status: &RunStatus, entry: &PluginStatus, now: Timestamp) {
    let result = entry.result_status.as_ref().map(|status| one_line(status.as_str()));
    plugin.result = match (plugin.expected, plugin.result.take(), result) {
        (0, _, result) => result,
        (_, Some(before), Some(result)) => Some(worse(before, result)),
        _ => None,
    };
    // What a status says may be anything: plugins count, and lie.
    let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
    add(&mut plugin.expected, entry.count());
    match entry.status {
        EntryStatus::Complete => add(&mut plugin.received, entry.count()),
        EntryStatus::Failed => add(&mut plugin.missing, entry.count()),
        EntryStatus::Running | EntryStatus::Other(_) => {}
    }
    plugin.heard |= entry.last_heartbeat.is_some();
    if let Some(progress) = &entry.progress {
        let tests = plugin.tests.get_or_insert_default();
        add(&mut tests.passed, u64::try_from(progress.completed).unwrap_or(0));
        add(&mut tests.failed, progress.failed());
        add(&mut tests.total, u64::try_from(progress.total).unwrap_or(0));
        plugin.message = if plugin.is_global { one_line(&progress.msg) } else { String::new() };
    }
    plugin.stalled = plugin.stalled.max(stalled(status, entry, now));
}

fn worse(a: String, b: String) -> String {
    let rank = |status: &str| ["failed", "timeout", "unknown"].iter().position(|bad| *bad == status).unwrap_or(9);
    if rank(&b) < rank(&a) { b } else { a }
}

/// Names of the tests that failed last, and how many more there are.
pub(super) fn failed_tests(seen: &Seen) -> (Vec<String>, u64) {
    let all = || seen.status.plugins.iter().flatten().filter_map(|entry| entry.progress.as_ref());
    let mut names: Vec<String> = Vec::new();
    for progress in all() {
        names.extend(progress.failures.iter().rev().take(MAX_FAILED).map(|name| one_line(name)));
    }
    names.truncate(MAX_FAILED);
    let failed = all().map(plumbline_core::ProgressUpdate::failed).fold(0, u64::saturating_add);
    let more = failed.saturating_sub(names.len() as u64);
    (names, more)
}

/// What is followed, in a line.
pub(super) fn head(seen: &Seen, cluster: &str, now: Timestamp) -> String {
    let all = plugins(seen, now);
    let results = all.iter().map(|plugin| plugin.expected).fold(0, u64::saturating_add);
    let run = seen.status.run.as_deref().map(|run| format!("run {} · ", run.chars().take(6).collect::<String>()));
    let began = seen.began.map(|at| format!(" · {}", period(now.duration_since(at))));
    format!(
        "{}cluster {} · namespace {} · {}, {}{}",
        run.unwrap_or_default(),
        one_line(cluster),
        seen.namespace,
        counted(all.len() as u64, "plugin"),
        counted(results, "expected result"),
        began.unwrap_or_default()
    )
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A span of time for a person.
pub(crate) fn period(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{Value, json};

    pub(in crate::ui) fn now() -> Timestamp {
        "2026-11-20T13:00:00Z".parse().unwrap()
    }

    pub(in crate::ui) fn seen(plugins: Value) -> Seen {
        Seen {
            namespace: "sonobuoy".to_owned(),
            pod: "sonobuoy".to_owned(),
            status: serde_json::from_value(json!({"status": "running", "run": "51c0de00", "plugins": plugins}))
                .unwrap(),
            began: Some("2026-11-20T12:48:00Z".parse().unwrap()),
            restarts: 0,
            waiting: Vec::new(),
        }
    }

    pub(in crate::ui) fn pulling(node: &str) -> Waiting {
        Waiting {
            pod: format!("pod-{node}"),
            plugin: Some("logs".to_owned()),
            node: Some(node.to_owned()),
            reason: "ImagePullBackOff".to_owned(),
            message: String::new(),
            image: Some("r/i:1".to_owned()),
            since: Some("2026-11-20T12:59:20Z".parse().unwrap()),
        }
    }

    #[test]
    fn nodes_stand_together_whether_they_were_folded_or_not() {
        let mut seen = seen(json!([
            {"plugin": "e2e", "node": "global", "status": "running", "progress":
                {"timestamp": "2026-11-20T12:50:00Z", "total": 404, "completed": 201, "failures": ["a", "b"], "msg": "on\nit"}},
            {"plugin": "logs", "node": "9 nodes", "status": "complete", "folded": 9, "result-status": "passed"},
            {"plugin": "logs", "node": "n1", "status": "complete", "result-status": "failed"},
            {"plugin": "logs", "node": "n2", "status": "failed"},
            {"plugin": "logs", "node": "n3", "status": "running"},
        ]));
        seen.waiting = vec![pulling("n3")];
        let all = plugins(&seen, now());
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].position(), all[0].stalled.unwrap().as_mins()), ((203, 404), 10));
        assert_eq!((all[1].expected, all[1].received, all[1].missing, all[1].waiting.len()), (12, 10, 1, 1));
        assert_eq!((all[1].position(), all[1].result.as_deref()), ((11, 12), None));
        assert_eq!(
            head(&seen, "kind-prod", now()),
            "run 51c0de · cluster kind-prod · namespace sonobuoy · 2 plugins, 13 expected results · 12 min"
        );
        assert_eq!(failed_tests(&seen), (vec!["b".to_owned(), "a".to_owned()], 0));
    }

    #[test]
    fn numbers_that_no_suite_has_are_shown_as_far_as_they_go() {
        let lie = |node: &str| {
            json!({"plugin": "p", "node": node, "status": "running", "folded": u64::MAX, "progress":
                {"total": i64::MAX, "completed": i64::MAX, "failures": ["a"], "omitted": u64::MAX}})
        };
        let seen = seen(json!([lie("n1"), lie("n2"), lie("n3")]));
        let all = plugins(&seen, now());
        assert_eq!((all[0].expected, all[0].tests.unwrap().done()), (u64::MAX, u64::MAX));
        assert_eq!(failed_tests(&seen).1, u64::MAX - 3);
        assert!(head(&seen, "c", now()).contains("1 plugin, "));
    }

    #[test]
    fn the_worst_result_counts_once_all_are_known() {
        let seen = seen(json!([
            {"plugin": "p", "node": "n1", "status": "complete", "result-status": "passed"},
            {"plugin": "p", "node": "n2", "status": "complete", "result-status": "failed"},
        ]));
        assert_eq!(plugins(&seen, now())[0].result.as_deref(), Some("failed"));
    }

    #[test]
    fn periods_have_one_unit_or_two() {
        let all = [0, 59, 60, 3599, 3660, 200_000].map(|seconds| period(SignedDuration::from_secs(seconds)));
        assert_eq!(all, ["0 s", "59 s", "1 min", "59 min", "1 h 1 min", "2 days"]);
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_aggregator::WorkerContact;
use serde_json::{Value, json};

use super::super::assess::Kind;
use super::super::options::{GracePeriods, Watched};
use super::super::samples::{ended, node, pod_with, running, view, waiting, watched};
use super::{Index, Now, Verdict};

fn at(seconds: u64) -> Now {
    let wall =
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1000) + SignedDuration::from_secs(seconds.cast_signed());
    Now { at: Duration::from_secs(seconds), wall }
}

fn kinds(verdicts: Vec<Verdict>) -> Vec<(String, Kind)> {
    verdicts.into_iter().map(|verdict| (verdict.key.to_string(), verdict.kind)).collect()
}

/// Returns an index for a cluster with these nodes and pods, watched from second 0 on.
fn index(watched: Watched, nodes: &[&str], pods: &[Value]) -> Index {
    let mut index = Index::new("ns".into(), GracePeriods::default());
    index.watch(watched, at(0));
    index.nodes.begin_list();
    nodes.iter().for_each(|name| index.node_applied(node(name, true), at(0)));
    index.nodes_listed(at(0));
    list(&mut index, pods, 0);
    index
}

fn list(index: &mut Index, pods: &[Value], seconds: u64) {
    index.pods.begin_list();
    pods.iter().for_each(|pod| index.pod_applied(view(pod), at(seconds)));
    index.pods_listed(at(seconds));
}

fn well(name: &str, node: &str) -> Value {
    pod_with(name, node, running(), running())
}

fn pulling(name: &str, node: &str) -> Value {
    pod_with(name, node, waiting("ImagePullBackOff", "no such image"), running())
}

#[test]
fn a_trouble_counts_once_and_only_when_its_grace_is_over() {
    let mut index = index(watched(&["w1", "w2"]), &["w1", "w2"], &[well("a", "w1"), pulling("b", "w2")]);
    assert_eq!(kinds(index.tick(at(299))), []);
    // The same problem with another message.
    index.pod_applied(view(&pod_with("b", "w2", waiting("ErrImagePull", "denied"), running())), at(299));
    let verdicts = index.tick(at(300));
    assert!(verdicts[0].sentence.contains("denied"), "{}", verdicts[0].sentence);
    assert_eq!(kinds(verdicts), [("p/w2".to_owned(), Kind::ImagePull)]);
    index.pod_applied(view(&pulling("b", "w2")), at(301));
    assert_eq!(kinds(index.tick(at(9999))), []);
}

#[test]
fn a_trouble_that_passes_is_forgotten() {
    let mut index = index(watched(&["w1"]), &["w1"], &[pulling("a", "w1")]);
    index.pod_applied(view(&well("a", "w1")), at(200));
    index.pod_applied(view(&pulling("a", "w1")), at(400));
    assert_eq!(kinds(index.tick(at(600))), []);
    assert_eq!(kinds(index.tick(at(700))), [("p/w1".to_owned(), Kind::ImagePull)]);
}

#[test]
fn a_container_that_does_not_start_has_a_separate_grace_period() {
    let creating = |name: &str, node: &str| {
        pod_with(name, node, waiting("ContainerCreating", ""), waiting("ContainerCreating", ""))
    };
    let mut index = index(watched(&["w1", "w2"]), &["w1", "w2"], &[creating("a", "w1"), creating("b", "w2")]);
    // One container starts in time. The other turns out to have no image, which starts a new grace
    // period.
    index.pod_applied(view(&well("a", "w1")), at(599));
    index.pod_applied(view(&pulling("b", "w2")), at(599));
    assert_eq!(kinds(index.tick(at(600))), []);
    index.pod_applied(view(&creating("b", "w2")), at(700));
    let verdicts = index.tick(at(1300));
    assert_eq!(
        verdicts[0].sentence,
        "container `scan` of pod `b` on node `w2` has not started within 10m: ContainerCreating"
    );
    assert_eq!(kinds(verdicts), [("p/w2".to_owned(), Kind::Starting)]);
}

#[test]
fn results_that_are_in_are_left_alone() {
    let missing = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&missing);
    let mut of = watched(&["w1"]);
    of.heard = WorkerContact::new(|_| None).with_missing(move |_| asked.load(Ordering::Relaxed));
    let mut index = index(of, &["w1"], &[pod_with("a", "w1", ended(0, "Completed"), running())]);
    assert_eq!(index.next_deadline(), Some(Duration::from_secs(10)));
    missing.store(false, Ordering::Relaxed);
    assert_eq!(kinds(index.tick(at(60))), []);
    assert_eq!(index.next_deadline(), None);
}

#[test]
fn a_pod_that_is_missing_from_a_complete_list_is_gone() {
    let mut index = index(watched(&[]), &["w1"], &[well("a", "w1")]);
    index.pods.begin_list();
    assert_eq!(kinds(index.tick(at(5000))), []);
    index.pods_listed(at(5000));
    assert_eq!(kinds(index.tick(at(5060))), [("p/global".to_owned(), Kind::PodGone)]);
}

#[test]
fn nothing_is_concluded_from_what_was_never_listed() {
    let mut index = Index::new("ns".into(), GracePeriods::default());
    index.watch(watched(&["w1"]), at(0));
    index.nodes.begin_list();
    index.pods.begin_list();
    assert_eq!(index.next_deadline(), None);
    // Nodes stay unknown to an account that may not list them.
    index.pods_listed(at(10));
    let verdicts = index.tick(at(310));
    assert_eq!(verdicts[0].sentence, "no pod was made for node `w1` within 5m");
    assert_eq!(kinds(verdicts), [("p/w1".to_owned(), Kind::NoPod)]);
}

#[test]
fn a_node_that_is_removed_ends_what_was_expected_of_it() {
    let mut index = index(watched(&["w1", "w2"]), &["w1", "w2"], &[well("a", "w1"), well("b", "w2")]);
    index.node_removed("w1", at(10));
    index.pod_removed(view(&well("a", "w1")), "{}".into(), at(10));
    assert_eq!(kinds(index.tick(at(70))), [("p/w1".to_owned(), Kind::NodeGone)]);

    let mut index = self::index(watched(&[]), &["w1"], &[well("a", "w1")]);
    index.node_removed("w1", at(10));
    assert_eq!(kinds(index.tick(at(70))), [("p/global".to_owned(), Kind::NodeGone)]);
}

#[test]
fn a_node_that_is_not_ready_counts_only_while_its_worker_is_silent() {
    let heard = Arc::new(AtomicI64::new(50));
    let asked = Arc::clone(&heard);
    let mut of = watched(&["w1"]);
    of.heard = WorkerContact::new(move |_| Some(at(asked.load(Ordering::Relaxed).cast_unsigned()).wall));
    let mut index = index(of, &["w1"], &[well("a", "w1")]);
    index.node_applied(node("w1", false), at(10));
    // The last heartbeat is at second 50.
    assert_eq!(kinds(index.tick(at(70))), []);
    assert_eq!(kinds(index.tick(at(129))), []);
    assert_eq!(kinds(index.tick(at(130))), [("p/w1".to_owned(), Kind::NodeNotReady)]);
}

#[test]
fn a_worker_that_was_heard_of_once_has_said_hello() {
    let heard = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&heard);
    let mut of = watched(&["w1", "w2"]);
    of.heard = WorkerContact::new(move |key| {
        (asked.load(Ordering::Relaxed) && key.node.as_str() == "w1").then_some(Timestamp::MAX)
    });
    let mut index = index(of, &["w1", "w2"], &[well("a", "w1"), well("b", "w2")]);
    heard.store(true, Ordering::Relaxed);
    assert_eq!(kinds(index.tick(at(60))), [("p/w2".to_owned(), Kind::Hello)]);
    // The worker on w2 is not Plumbline's, so none of the plugin's is. Other problems still count.
    index.expect_no_hello(&"p/w2".parse().unwrap(), at(61));
    assert_eq!(kinds(index.tick(at(99))), []);
    index.pod_applied(view(&pulling("b", "w2")), at(100));
    assert_eq!(kinds(index.tick(at(400))), [("p/w2".to_owned(), Kind::ImagePull)]);
}

#[test]
fn one_pod_that_is_well_is_enough() {
    let mut evicted = well("a", "w1");
    evicted["status"]["phase"] = json!("Failed");
    evicted["status"]["reason"] = json!("Evicted");
    let mut index = index(watched(&["w1"]), &["w1"], &[evicted.clone(), well("a2", "w1")]);
    assert_eq!(kinds(index.tick(at(9))), []);
    index.pod_removed(view(&well("a2", "w1")), "{}".into(), at(10));
    assert_eq!(kinds(index.tick(at(70))), [("p/w1".to_owned(), Kind::PodEvicted)]);
}

#[test]
fn a_pod_that_comes_before_its_plugin_is_watched_is_remembered() {
    let mut index = Index::new("ns".into(), GracePeriods::default());
    list(&mut index, &[pulling("a", "w1")], 0);
    index.watch(watched(&[]), at(100));
    assert_eq!(index.next_deadline(), Some(Duration::from_secs(110)));
    index.forget(&"p".parse().unwrap());
    assert_eq!(index.next_deadline(), None);
}

#[test]
fn a_premature_verdict_may_come_again_later() {
    let mut index = index(watched(&["w1"]), &["w1"], &[pulling("a", "w1")]);
    let key = "p/w1".parse().unwrap();
    assert_eq!(kinds(index.tick(at(300))).len(), 1);
    assert!(index.was_given_up(&key));
    index.reprieve(&key, Kind::ImagePull, Duration::from_secs(10), at(301));
    assert!(!index.was_given_up(&key));
    assert_eq!(kinds(index.tick(at(310))), []);
    assert_eq!(kinds(index.tick(at(311))), [("p/w1".to_owned(), Kind::ImagePull)]);
}

#[test]
fn pods_of_other_sessions_and_other_nodes_do_not_matter() {
    let mut other = pulling("x", "w1");
    other["metadata"]["labels"]["sonobuoy-run"] = json!("s2");
    let mut index = index(watched(&["w1"]), &["w1"], &[other, pulling("y", "w9"), well("a", "w1")]);
    assert_eq!(kinds(index.tick(at(9999))), []);
}

/// Returns an index with one healthy pod on node w1, whose worker's last heartbeat is at this
/// second.
fn listening(graces: GracePeriods) -> (Index, Arc<AtomicI64>) {
    let heard = Arc::new(AtomicI64::new(0));
    let asked = Arc::clone(&heard);
    let mut of = watched(&["w1"]);
    of.heard = WorkerContact::new(move |_| Some(at(asked.load(Ordering::Relaxed).cast_unsigned()).wall));
    let mut index = Index::new("ns".into(), graces);
    index.watch(of, at(0));
    index.nodes.begin_list();
    index.node_applied(node("w1", true), at(0));
    index.nodes_listed(at(0));
    list(&mut index, &[well("a", "w1")], 0);
    (index, heard)
}

/// Ticks whenever the index asks for it, up to this second. Returns the reported problems and
/// verdicts, each with its second.
fn run(index: &mut Index, until: u64) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    while let Some(due) = index.next_deadline().map(|due| due.as_secs()).filter(|due| *due <= until) {
        all.extend(index.tick(at(due)).into_iter().map(|verdict| (due, format!("lost: {}", verdict.sentence))));
        let news = index.take_news().into_values();
        all.extend(news.map(|reason| (due, reason.unwrap_or_else(|| "well".to_owned()))));
    }
    all
}

#[test]
fn a_worker_that_falls_silent_is_reported_after_a_minute_and_lost_after_six() {
    let (mut index, heard) = listening(GracePeriods::default());
    heard.store(30, Ordering::Relaxed);
    let reports = run(&mut index, 1000);
    let so_far =
        "the worker of pod `a` on node `w1` has sent no heartbeat for more than 1m, although its container runs";
    let lost =
        "lost: the worker of pod `a` on node `w1` has sent no heartbeat for more than 6m, although its container runs";
    let [(90, first), (390, second)] = &reports[..] else { panic!("{reports:?}") };
    assert!(first.starts_with(so_far) && second.starts_with(lost), "{reports:?}");
}

#[test]
fn a_silent_worker_that_is_heard_of_again_is_well() {
    let (mut index, heard) = listening(GracePeriods::default());
    assert_eq!(run(&mut index, 100).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [60]);
    heard.store(99, Ordering::Relaxed);
    assert_eq!(run(&mut index, 150), [(105, "well".to_owned())]);
    heard.store(150, Ordering::Relaxed);
    // Heartbeats alone do not cause a report.
    assert_eq!(run(&mut index, 200), []);
}

#[test]
fn a_silent_worker_is_waited_for_as_long_as_the_operator_wants() {
    let (mut index, _) = listening(GracePeriods { silent_lost: None, ..GracePeriods::default() });
    assert_eq!(run(&mut index, 50_000).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [60]);
    // This holds only while its container is running.
    index.pod_applied(view(&pod_with("a", "w1", running(), ended(137, "Error"))), at(50_000));
    let reports = run(&mut index, 60_000);
    assert!(
        reports.last().is_some_and(|(at, text)| *at == 50_060 && text.starts_with("lost: the worker")),
        "{reports:?}"
    );
}

#[test]
fn the_silence_of_a_node_that_is_not_ready_is_the_nodes() {
    let (mut index, _) = listening(GracePeriods::default());
    index.node_applied(node("w1", false), at(50));
    let reports = run(&mut index, 1000);
    let [(60, first), (110, second)] = &reports[..] else { panic!("{reports:?}") };
    assert!(first.starts_with("node `w1` is not ready: NodeStatusUnknown"), "{first}");
    assert!(second.starts_with("lost: node `w1` has not been ready for 1m"), "{second}");
}

#[test]
fn the_reason_for_a_missing_result_is_known_during_its_grace_period() {
    let mut index = index(watched(&["w1"]), &["w1"], &[pod_with("a", "w1", ended(137, "OOMKilled"), running())]);
    let reports = run(&mut index, 59);
    let [(10, text)] = &reports[..] else { panic!("{reports:?}") };
    assert!(text.contains("was killed because it used more memory than its limit of 128Mi"), "{text}");
}

#[test]
fn a_crash_loop_counts_from_its_first_crash_although_the_container_runs_in_between() {
    let crashed = |restarts: u64| {
        let state = json!({"waiting": {"reason": "CrashLoopBackOff"}, "restartCount": restarts, "lastState": ended(1, "Error")});
        view(&pod_with("a", "w1", state, running()))
    };
    let runs = |restarts: u64| view(&pod_with("a", "w1", json!({"running": {}, "restartCount": restarts}), running()));
    let mut index = index(watched(&["w1"]), &["w1"], &[]);
    index.pod_applied(crashed(1), at(5));
    index.pod_applied(runs(2), at(15));
    index.pod_applied(crashed(2), at(18));
    index.pod_applied(runs(2), at(40));
    assert_eq!(kinds(index.tick(at(64))), []);
    index.pod_applied(crashed(2), at(66));
    assert_eq!(kinds(index.tick(at(66))), [("p/w1".to_owned(), Kind::CrashLoop)]);
}

#[test]
fn a_crash_long_after_another_starts_a_new_loop() {
    let crashed = || {
        let state =
            json!({"waiting": {"reason": "CrashLoopBackOff"}, "restartCount": 1, "lastState": ended(1, "Error")});
        view(&pod_with("a", "w1", state, running()))
    };
    let mut index = index(watched(&["w1"]), &["w1"], &[]);
    index.pod_applied(crashed(), at(5));
    index.pod_applied(view(&well("a", "w1")), at(15));
    index.pod_applied(view(&well("a", "w1")), at(60));
    index.pod_applied(crashed(), at(80));
    assert_eq!(kinds(index.tick(at(139))), []);
    assert_eq!(kinds(index.tick(at(140))), [("p/w1".to_owned(), Kind::CrashLoop)]);
}

#[test]
fn a_worker_that_was_not_heard_of_is_not_reported_before_its_log_was_read() {
    let mut of = watched(&["w1"]);
    of.heard = WorkerContact::new(|_| None);
    let mut index = index(of, &["w1"], &[well("a", "w1")]);
    assert_eq!(run(&mut index, 59), []);
    assert_eq!(kinds(index.tick(at(60))), [("p/w1".to_owned(), Kind::Hello)]);
    assert!(index.take_news().is_empty());
}

//! Starts of runs while their environment does not answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_aggregator::{BoxFuture, DispatchError, RunError, StartKind, StartPatience, Vault};
use plumbline_core::Verdict;

use crate::harness::{Archive, RunFixture, TestDispatcher, file, key, send, source, until};

fn away() -> DispatchError {
    DispatchError::temporary("the API server does not answer")
}

/// A vault that fails a number of times.
#[derive(Default)]
struct WeakVault {
    pem: Mutex<Option<String>>,
    failures: Mutex<Vec<DispatchError>>,
}

impl WeakVault {
    fn fail(&self, times: usize, error: &DispatchError) {
        *self.failures.lock().unwrap() = vec![error.clone(); times];
    }

    fn try_to<T>(&self, action: impl FnOnce(&mut Option<String>) -> T) -> Result<T, DispatchError> {
        match self.failures.lock().unwrap().pop() {
            Some(error) => Err(error),
            None => Ok(action(&mut self.pem.lock().unwrap())),
        }
    }
}

impl Vault for WeakVault {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>> {
        let loaded = self.try_to(|pem| pem.clone());
        Box::pin(async { loaded })
    }

    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>> {
        let kept = self.try_to(|kept| *kept = Some(pem.to_owned()));
        Box::pin(async { kept })
    }
}

/// Makes the run wait for at most `limit`. Returns the number of delays so far.
fn patient(fixture: &mut RunFixture, limit: Duration) -> Arc<AtomicUsize> {
    let delays = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&delays);
    let on_delay = Arc::new(move |_: &DispatchError| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    fixture.settings.patience = StartPatience { limit, pause: Duration::from_millis(1), on_delay };
    delays
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_run_starts_when_its_environment_answers_again() {
    let mut fixture = RunFixture::new();
    let delays = patient(&mut fixture, LONG);
    let vault = Arc::new(WeakVault::default());
    vault.fail(3, &away());
    fixture.settings.vault = Some(vault);
    let (dispatcher, launched) = TestDispatcher::new(&["n1"]);
    let live =
        fixture.live_with(vec![source("p", "DaemonSet", "")], dispatcher.without_nodes(2, &away()), launched).await;
    assert_eq!(delays.load(Ordering::Relaxed), 5);
    live.finished_with("p/n1", &file("a.txt", "a")).await;
}

#[tokio::test]
async fn a_run_starts_after_the_wait() {
    let mut fixture = RunFixture::new();
    let delayed = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&delayed);
    let on_delay = Arc::new(move |_: &DispatchError| *seen.lock().unwrap() = Some(Timestamp::now()));
    fixture.settings.patience = StartPatience { limit: LONG, pause: Duration::from_millis(1), on_delay };
    let (dispatcher, _launched) = TestDispatcher::new(&["n1"]);
    let dispatcher = dispatcher.without_nodes(1, &away());
    let (run, _) = fixture.begin(vec![source("p", "DaemonSet", "")], dispatcher).await.unwrap();
    // The deadline counts from there.
    assert!(run.started() > delayed.lock().unwrap().unwrap());
}

#[tokio::test]
async fn a_run_continues_when_its_environment_answers_again() {
    let vault = Arc::new(WeakVault::default());
    let mut fixture = RunFixture::new();
    fixture.settings.vault = Some(Arc::clone(&vault) as _);
    let mut first = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2"]).await;
    let access = first.launch().await.access;
    send(&access, "p/n1", &file("a.txt", "a")).await.unwrap();
    let mut crashed = fixture.crashed();
    crashed.settings.vault = Some(Arc::clone(&vault) as _);
    patient(&mut crashed, LONG);
    vault.fail(3, &away());
    // The expected results are in the journal, so nobody asks for nodes.
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let dispatcher = dispatcher.without_nodes(1, &DispatchError::new("it is forbidden"));
    let mut second = crashed.live_with(Vec::new(), dispatcher, launched).await;
    assert_eq!(second.begun, StartKind::Continued);
    let launch = second.launch().await;
    assert_eq!((launch.missing, launch.access.ca_cert), (vec![key("p/n2")], access.ca_cert));
}

#[tokio::test]
async fn a_start_without_an_answer_fails_for_now() {
    let mut fixture = RunFixture::new();
    patient(&mut fixture, Duration::from_millis(20));
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let dispatcher = dispatcher.without_nodes(1000, &away());
    let Err(error) = fixture.begin(vec![source("p", "Job", "")], dispatcher).await else { panic!("it started") };
    assert!(matches!(error, RunError::Nodes(_)) && error.is_temporary(), "{error}");
    assert!(launched.is_empty());
    // The next process starts the run.
    fixture.live(vec![source("p", "Job", "")], &[]).await.finished_with("p/global", &file("a.txt", "a")).await;
}

#[tokio::test]
async fn a_lasting_cause_fails_the_start_at_once() {
    let mut fixture = RunFixture::new();
    let delays = patient(&mut fixture, LONG);
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let dispatcher = dispatcher.without_nodes(1, &DispatchError::new("it is forbidden"));
    let Err(error) = fixture.begin(vec![source("p", "Job", "")], dispatcher).await else { panic!("it started") };
    assert!(matches!(error, RunError::Nodes(_)) && !error.is_temporary(), "{error}");
    let vault = Arc::new(WeakVault::default());
    vault.fail(1, &DispatchError::new("it is forbidden"));
    fixture.settings.vault = Some(vault);
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let Err(error) = fixture.begin(vec![source("p", "Job", "")], dispatcher).await else { panic!("it started") };
    assert!(matches!(error, RunError::Vault(_)) && !error.is_temporary(), "{error}");
    assert_eq!(delays.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_plugin_is_launched_when_its_environment_answers_again() {
    let mut fixture = RunFixture::new();
    patient(&mut fixture, Duration::ZERO);
    fixture.settings.launch_patience = LONG;
    let (dispatcher, launched) = TestDispatcher::new(&["n1"]);
    let dispatcher = dispatcher.without_launches(3, &away());
    let mut live = fixture.live_with(vec![source("p", "DaemonSet", "")], dispatcher, launched).await;
    let access = live.launch().await.access;
    assert!(live.launched.abandoned.lock().unwrap().is_empty(), "the last attempt adopts what the others created");
    // Nothing delays the result any more.
    until(&live.state, |ledger| ledger.problem(&key("p/n1")).is_none()).await;
    send(&access, "p/n1", &file("a.txt", "a")).await.unwrap();
    assert_eq!(Archive::of(&live.finished().await).text("plugins/p/results/n1/a.txt"), "a");
}

#[tokio::test]
async fn a_plugin_whose_environment_stays_away_fails_with_the_reason() {
    // Its own time is shorter than the wait, or the wait is.
    for (limit, timeout) in [(LONG, "  timeout: 1s"), (Duration::from_millis(50), "  timeout: 1h")] {
        let mut fixture = RunFixture::new();
        patient(&mut fixture, Duration::ZERO);
        fixture.settings.launch_patience = limit;
        let (dispatcher, launched) = TestDispatcher::new(&["n1"]);
        let dispatcher = dispatcher.without_launches(100_000, &away());
        let abandoned = Arc::clone(&launched.abandoned);
        let plugin = source("p", "DaemonSet", &format!("plumbline:\n{timeout}"));
        let live = fixture.live_with(vec![plugin], dispatcher, launched).await;
        let finished = live.finished().await;
        assert_eq!(finished.verdict, Verdict::Incomplete);
        assert_eq!(*abandoned.lock().unwrap(), ["p"]);
        let error = Archive::of(&finished).json("plugins/p/errors/n1/error.json");
        assert_eq!(error["error"], "the API server does not answer", "{timeout}");
    }
}

#[tokio::test]
async fn an_interrupted_run_does_not_wait_for_its_environment() {
    let mut fixture = RunFixture::new();
    let delays = patient(&mut fixture, LONG);
    (fixture.settings.launch_patience, fixture.settings.patience.pause) = (LONG, LONG / 2);
    let (dispatcher, launched) = TestDispatcher::new(&["n1"]);
    let dispatcher = dispatcher.without_launches(1, &away());
    let live = fixture.live_with(vec![source("p", "DaemonSet", "")], dispatcher, launched).await;
    let reason = "the launch is delayed: the API server does not answer";
    until(&live.state, |ledger| ledger.problem(&key("p/n1")) == Some(reason)).await;
    assert_eq!(live.interrupt().await.verdict, Verdict::Interrupted);
    assert_eq!(delays.load(Ordering::Relaxed), 0, "the start was not delayed");
}

//! A dispatcher that launches nothing. It passes launches to the test, which acts as the workers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use plumbline_aggregator::{BoxFuture, Completed, DispatchError, Dispatcher, Exit, ExitKind, Launch, Report, Unsent};
use plumbline_core::{Node, ResultKey};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{PATIENCE, key};

pub(crate) struct TestDispatcher {
    nodes: Vec<Node>,
    failures: Mutex<Vec<DispatchError>>,
    failed_launches: Mutex<Vec<DispatchError>>,
    launches: mpsc::UnboundedSender<(Launch, mpsc::Sender<Report>)>,
    refused: BTreeMap<String, String>,
    exits: Mutex<Vec<Exit>>,
    settled: mpsc::UnboundedSender<String>,
    hold: Option<CancellationToken>,
    unsent: BTreeMap<ResultKey, Unsent>,
    abandoned: Abandoned,
}

/// Plugins whose launches were abandoned.
pub(crate) type Abandoned = Arc<Mutex<Vec<String>>>;

/// Calls of the dispatcher.
pub(crate) struct Launched {
    launches: mpsc::UnboundedReceiver<(Launch, mpsc::Sender<Report>)>,
    /// Plugins that were settled, and finally an empty string for the cleanup.
    calls: mpsc::UnboundedReceiver<String>,
    pub(crate) abandoned: Abandoned,
}

impl Launched {
    pub(crate) async fn next(&mut self) -> (Launch, mpsc::Sender<Report>) {
        tokio::time::timeout(PATIENCE, self.launches.recv()).await.expect("nothing is launched").unwrap()
    }

    /// Waits for the next launch, unless `stopped` is cancelled before.
    pub(crate) async fn next_within(&mut self, stopped: &CancellationToken) -> Option<Launch> {
        tokio::select! {
            (launch, _) = self.next() => Some(launch),
            () = stopped.cancelled() => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Returns all calls so far.
    pub(crate) fn calls(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.calls.try_recv().ok()).collect()
    }

    /// Waits for the cleanup, and returns all calls up to it.
    pub(crate) async fn calls_to_cleanup(&mut self) -> Vec<String> {
        let mut calls = self.calls();
        while calls.last().is_none_or(|call| !call.is_empty()) {
            let next = tokio::time::timeout(PATIENCE, self.calls.recv()).await;
            calls.push(next.expect("nothing is cleaned up").unwrap());
        }
        calls
    }
}

impl TestDispatcher {
    pub(crate) fn new(nodes: &[&str]) -> (Self, Launched) {
        let nodes = nodes.iter().map(|name| node(name)).collect();
        let (launches, launched) = mpsc::unbounded_channel();
        let (settled, calls) = mpsc::unbounded_channel();
        let (failures, failed_launches, refused, exits, unsent) = Default::default();
        let abandoned = Abandoned::default();
        let dispatcher = Self {
            nodes,
            failures,
            failed_launches,
            launches,
            refused,
            exits,
            settled,
            hold: None,
            unsent,
            abandoned: Arc::clone(&abandoned),
        };
        (dispatcher, Launched { launches: launched, calls, abandoned })
    }

    /// Makes the first `times` lists of nodes fail with this error.
    pub(crate) fn without_nodes(self, times: usize, error: &DispatchError) -> Self {
        *self.failures.lock().unwrap() = vec![error.clone(); times];
        self
    }

    /// Makes the first `times` launches fail with this error.
    pub(crate) fn without_launches(self, times: usize, error: &DispatchError) -> Self {
        *self.failed_launches.lock().unwrap() = vec![error.clone(); times];
        self
    }

    /// Makes the launch of `plugin` fail with this message.
    pub(crate) fn refuse(mut self, plugin: &str, sentence: &str) -> Self {
        self.refused.insert(plugin.to_owned(), sentence.to_owned());
        self
    }

    /// Makes the files in `directory` those that the plugin wrote for `result` and did not send.
    pub(crate) fn with_unsent(mut self, result: &str, directory: &Path) -> Self {
        self.unsent.insert(key(result), Unsent { directory: directory.to_owned(), exclude: Vec::new() });
        self
    }

    /// Settles no plugin before the token is cancelled.
    pub(crate) fn hold(mut self, until: CancellationToken) -> Self {
        self.hold = Some(until);
        self
    }

    /// Sets how the execution of `result` ends after it has sent its results: with a failure.
    pub(crate) fn exit(self, result: &str, text: &str) -> Self {
        self.exit_as(result, text, ExitKind::Failure)
    }

    /// Sets how the execution of `result` ends after it has sent its results.
    pub(crate) fn exit_as(self, result: &str, text: &str, kind: ExitKind) -> Self {
        self.exits.lock().unwrap().push(Exit { key: key(result), text: text.to_owned(), kind });
        self
    }
}

fn node(name: &str) -> Node {
    serde_json::from_value(serde_json::json!({
        "name": name, "labels": {}, "taints": [], "ready": true, "unschedulable": false, "os": "linux", "arch": "amd64"
    }))
    .unwrap()
}

impl Dispatcher for TestDispatcher {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>> {
        let failure = self.failures.lock().unwrap().pop();
        Box::pin(async { failure.map_or_else(|| Ok(self.nodes.clone()), Err) })
    }

    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(async move {
            if let Some(sentence) = self.refused.get(launch.definition.name.as_str()) {
                return Err(DispatchError::new(sentence.clone()));
            }
            if let Some(error) = self.failed_launches.lock().unwrap().pop() {
                return Err(error);
            }
            // The receiver is gone if the test has ended.
            let _ = self.launches.send((launch, reports));
            Ok(())
        })
    }

    fn abandon<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.abandoned.lock().unwrap().push(launch.definition.name.to_string()) })
    }

    fn settle<'a>(&'a self, plugin: &'a Completed) -> BoxFuture<'a, Vec<Exit>> {
        Box::pin(async move {
            if let Some(hold) = &self.hold {
                hold.cancelled().await;
            }
            let name = &plugin.definition.name;
            let _ = self.settled.send(name.to_string());
            self.exits.lock().unwrap().extract_if(.., |exit| exit.key.plugin == *name).collect()
        })
    }

    fn unsent(&self, key: &ResultKey) -> Option<Unsent> {
        self.unsent.get(key).cloned()
    }

    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(async {
            let _ = self.settled.send(String::new());
            Ok(())
        })
    }
}

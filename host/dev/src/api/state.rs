//! The state of the server, behind one lock.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;

use crate::api::{faults::Fault, resources::Resources, store::Store};

/// A recorded request, and the status of its response.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The method, such as `GET` or `POST`.
    pub method: String,
    /// The path as sent.
    pub path: String,
    /// The query as sent, without the question mark; empty if there was none.
    pub query: String,
    /// The whole body.
    pub body: Vec<u8>,
    /// The header `Content-Type`; empty if there was none.
    pub content_type: String,
    /// The status code of the response; 0 if there is none (yet).
    pub status: u16,
}

/// A command that a client runs in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRequest {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The container in the request, or else the pod's only one.
    pub container: String,
    /// The command with its arguments.
    pub command: Vec<String>,
}

/// The result of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecReply {
    /// The standard output of the command.
    pub stdout: Vec<u8>,
    /// The standard error of the command.
    pub stderr: Vec<u8>,
    /// The exit code of the command.
    pub exit_code: i32,
    /// If set, the connection breaks after this many bytes of stdout, without a status.
    pub cut_after: Option<usize>,
}

pub(crate) type ExecHandler = Arc<dyn Fn(ExecRequest) -> ExecReply + Send + Sync>;

/// Namespace, pod, container.
pub(crate) type LogKey = (String, String, String);

/// One line, with its line break if it has one.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) time: Timestamp,
    pub(crate) text: String,
}

/// The log of the current or last instance of a container.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Incremented when the log is replaced. Streams that follow the previous text then end.
    pub(crate) generation: u64,
    pub(crate) lines: Vec<Line>,
}

/// The logs of all containers.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    current: HashMap<LogKey, Log>,
    previous: HashMap<LogKey, Vec<Line>>,
    latest: Timestamp,
}

impl Logs {
    pub(crate) fn get(&self, key: &LogKey) -> Option<&Log> {
        self.current.get(key)
    }

    pub(crate) fn previous(&self, key: &LogKey) -> Option<&[Line]> {
        self.previous.get(key).map(Vec::as_slice)
    }

    pub(crate) fn set(&mut self, key: LogKey, text: &str) {
        let lines = self.lines(text);
        let generation = self.current.get(&key).map_or(0, |log| log.generation + 1);
        self.current.insert(key, Log { generation, lines });
    }

    pub(crate) fn set_previous(&mut self, key: LogKey, text: &str) {
        let lines = self.lines(text);
        self.previous.insert(key, lines);
    }

    /// Appends lines. A missing line break at the end is added.
    pub(crate) fn append(&mut self, key: LogKey, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let lines = self.lines(&format!("{text}{end}"));
        self.current.entry(key).or_default().lines.extend(lines);
    }

    fn lines(&mut self, text: &str) -> Vec<Line> {
        let line = |text: &str| Line { time: self.tick(), text: text.to_owned() };
        text.split_inclusive('\n').map(line).collect()
    }

    /// Returns the current time, increased if necessary so that no two lines have the same time.
    fn tick(&mut self) -> Timestamp {
        let next = self.latest.checked_add(Duration::from_nanos(1)).unwrap_or(self.latest);
        self.latest = Timestamp::now().max(next);
        self.latest
    }
}

/// Counts of interruptions. A stream ends if it started before the count was incremented.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cuts {
    pub(crate) watches_expired: u64,
    pub(crate) watches_dropped: u64,
    pub(crate) logs_dropped: u64,
}

pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) resources: Resources,
    pub(crate) logs: Logs,
    /// The responses of nodes by node and path: status code and body.
    pub(crate) proxied: HashMap<(String, String), (u16, String)>,
    pub(crate) exec: Option<ExecHandler>,
    pub(crate) faults: Vec<Fault>,
    /// Kept as long as the server lives, which is one test.
    pub(crate) requests: Vec<Recorded>,
    /// The denied verbs and resources (with subresource).
    pub(crate) denied: HashSet<(String, String)>,
    pub(crate) cuts: Cuts,
    pub(crate) git_version: String,
}

/// The state, with a notification of changes.
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        let mut store = Store::new();
        for name in ["default", "kube-system"] {
            let namespace = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}
            });
            store.write("namespaces", namespace);
        }
        let state = State {
            store,
            resources: Resources::usual(),
            logs: Logs::default(),
            proxied: HashMap::new(),
            exec: None,
            faults: Vec::new(),
            requests: Vec::new(),
            denied: HashSet::new(),
            cuts: Cuts::default(),
            git_version: "v1.30.2".into(),
        };
        Self { state: Mutex::new(state), changed: watch::Sender::new(()) }
    }

    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        // The test may have panicked in its closure. The state is still consistent, because every
        // change is complete.
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state without a notification.
    pub(crate) fn note<R>(&self, note: impl FnOnce(&mut State) -> R) -> R {
        note(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state and notifies watches.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let result = self.note(change);
        self.changed.send_modify(|()| {});
        result
    }

    /// Subscribes to changes from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

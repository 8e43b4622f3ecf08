//! What the double knows, behind one lock.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::json;
use tokio::sync::watch;

use crate::{
    exec::{ExecReply, ExecRequest},
    faults::Fault,
    logs::Logs,
    resources::Resources,
    store::Store,
};

/// A request as it came, and how it was answered.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path as it was sent.
    pub path: String,
    /// The query as it was sent, without the question mark; empty if there was none.
    pub query: String,
    /// The whole body.
    pub body: Vec<u8>,
    /// The header `Content-Type`; empty if there was none.
    pub content_type: String,
    /// The code of the answer; 0 if there was none (yet).
    pub status: u16,
}

/// What carries out commands in containers.
pub(crate) type ExecHandler = Arc<dyn Fn(ExecRequest) -> ExecReply + Send + Sync>;

/// How often streams were ended on order: a stream that began before the count went up ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cuts {
    pub(crate) watches_expired: u64,
    pub(crate) watches_dropped: u64,
    pub(crate) bookmarks: u64,
    pub(crate) logs_dropped: u64,
}

/// Everything.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) resources: Resources,
    pub(crate) logs: Logs,
    /// By node and path: code and body.
    pub(crate) proxied: HashMap<(String, String), (u16, String)>,
    pub(crate) exec: Option<ExecHandler>,
    pub(crate) faults: Vec<Fault>,
    /// Kept as long as the double lives, which is one test.
    pub(crate) requests: Vec<Recorded>,
    /// Verb and resource (with subresource) that are forbidden.
    pub(crate) denied: HashSet<(String, String)>,
    pub(crate) cuts: Cuts,
    pub(crate) git_version: String,
    pub(crate) strict_namespaces: bool,
}

/// The state, and who waits for it to change.
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
            strict_namespaces: false,
        };
        Self { state: Mutex::new(state), changed: watch::Sender::new(()) }
    }

    /// Looks at the state.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        // A test that panicked in its closure has said what it had to say; the state is whole, for every change is.
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state without waking anybody.
    pub(crate) fn note<R>(&self, note: impl FnOnce(&mut State) -> R) -> R {
        note(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state, and wakes who waits.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let result = self.note(change);
        self.changed.send_modify(|()| {});
        result
    }

    /// Hears of changes from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

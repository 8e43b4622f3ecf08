//! What a test holds in its hand.

use std::{fmt, io, net::TcpListener, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    deletion::{self, Dependents},
    exec::{ExecReply, ExecRequest},
    faults::Fault,
    json as at,
    logs::LogKey,
    resources::Resource,
    server,
    state::{Recorded, Shared, State},
    store::key_of,
};

/// How long [`ApiDouble::changed`] and [`ApiDouble::requested`] wait: far more than anything on loopback takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Kubernetes API server in memory. Clones are the same server; it stops when the last of them is dropped.
///
/// Resources are named by their plural in lower case (`pods`, `daemonsets`), with the group where the plural is not enough
/// (`pods.metrics.k8s.io`). The namespace of what has none is the empty string.
#[derive(Clone)]
pub struct ApiDouble {
    shared: Arc<Shared>,
    address: std::net::SocketAddr,
    _stop: Arc<Stop>,
}

/// Stops the server when the last owner is gone.
struct Stop(CancellationToken);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl ApiDouble {
    /// Starts a server on a free port of loopback, with the namespaces `default` and `kube-system` and nothing else in it. It runs on a thread
    /// of its own, so that it answers while the test blocks, and whatever the test does to its clock.
    ///
    /// # Errors
    ///
    /// No port, or no thread, could be had.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new());
        let stop = CancellationToken::new();
        server::spawn(listener, Arc::clone(&shared), stop.clone())?;
        Ok(Self { shared, address, _stop: Arc::new(Stop(stop)) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig (YAML) whose only context, `double`, is this server and the namespace `default`.
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: double\n\
             clusters:\n- name: double\n  cluster:\n    server: {}\n\
             users:\n- name: double\n  user: {{}}\n\
             contexts:\n- name: double\n  context:\n    cluster: double\n    user: double\n    namespace: default\n",
            self.url()
        )
    }

    /// What `/version` says; `v1.30.2` if nothing is said.
    pub fn set_version(&self, git_version: &str) {
        self.shared.note(|state| state.git_version = git_version.to_owned());
    }

    /// Creates or replaces an object, status included, as a controller would: without validation. Kind, API version, uid, creation time and
    /// resource version are filled in; the namespace is `default` if the object names none and the resource has one. A resource that is not known is
    /// added, from what the object says of itself.
    pub fn put(&self, resource: &str, mut object: Value) {
        self.shared.change(|state| {
            let resource = state.resources.named_or_made_up(resource, &object);
            for (field, value) in [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())] {
                if at::text(&object, &format!("/{field}")).is_empty() {
                    at::set(&mut object, &[field], value);
                }
            }
            if resource.namespaced && at::text(&object, "/metadata/namespace").is_empty() {
                at::set(&mut object, &["metadata", "namespace"], "default");
            }
            if !resource.namespaced {
                at::unset(&mut object, &["metadata", "namespace"]);
            }
            state.store.write(&resource.id(), object);
        });
    }

    /// An object as it is now.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.shared.look(|state| {
            let object = state.store.get(&id(state, resource), namespace, name)?;
            Some(Value::clone(object))
        })
    }

    /// All objects of a resource, by namespace and name.
    pub fn list(&self, resource: &str) -> Vec<Value> {
        self.shared
            .look(|state| state.store.list(&id(state, resource)).map(|(_, object)| Value::clone(object)).collect())
    }

    /// Changes an object as a controller would, status included, without validation; says whether there is one. Name and namespace stay what they
    /// are. The closure must not call the double: nobody else comes in between, not even the test.
    pub fn update(&self, resource: &str, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) -> bool {
        self.shared.change(|state| {
            let id = id(state, resource);
            let Some(object) = state.store.get(&id, namespace, name) else {
                return false;
            };
            let mut object = Value::clone(object);
            let key = key_of(&object);
            change(&mut object);
            at::set(&mut object, &["metadata", "name"], key.1);
            if !key.0.is_empty() {
                at::set(&mut object, &["metadata", "namespace"], key.0);
            }
            state.store.write(&id, object);
            true
        })
    }

    /// Takes an object away, whatever holds it, and what belongs to it (owner references); says whether there was one.
    pub fn remove(&self, resource: &str, namespace: &str, name: &str) -> bool {
        self.shared.change(|state| {
            let gone = state.store.erase(&id(state, resource), namespace, name);
            if let Some(gone) = &gone {
                deletion::disown(&mut state.store, at::text(gone, "/metadata/uid"), Dependents::Delete);
            }
            gone.is_some()
        })
    }

    /// Serves another resource (the core's group is the empty string). The first version of a group is its preferred one; all versions of a
    /// resource show the same objects.
    pub fn add_resource(&self, group: &str, version: &str, resource: &str, kind: &str, namespaced: bool) {
        let resource = Resource {
            group: group.into(),
            version: version.into(),
            plural: resource.into(),
            kind: kind.into(),
            namespaced,
            review: false,
            status: false,
            custom: true,
        };
        self.shared.change(|state| state.resources.add(resource));
    }

    /// From now on, clients can create only in namespaces that exist, as in a real cluster. Otherwise only a namespace that is being deleted
    /// refuses new objects.
    pub fn strict_namespaces(&self) {
        self.shared.note(|state| state.strict_namespaces = true);
    }

    /// Sets what a container has written. Who follows the text before comes to its end, as when a container starts anew.
    pub fn set_log(&self, namespace: &str, pod: &str, container: &str, text: impl Into<String>) {
        self.shared.change(|state| state.logs.set(log_key(namespace, pod, container), &text.into()));
    }

    /// Sets what the container wrote before it was started the last time (`previous=true`).
    pub fn set_previous_log(&self, namespace: &str, pod: &str, container: &str, text: impl Into<String>) {
        self.shared.change(|state| state.logs.set_previous(log_key(namespace, pod, container), &text.into()));
    }

    /// Adds a line, or several; a missing line end is added.
    pub fn append_log(&self, namespace: &str, pod: &str, container: &str, text: &str) {
        self.shared.change(|state| state.logs.append(log_key(namespace, pod, container), text, None));
    }

    /// Adds a line that was written at that time (`timestamps=true`, `sinceTime`).
    pub fn append_log_at(&self, namespace: &str, pod: &str, container: &str, time: Timestamp, text: &str) {
        self.shared.change(|state| state.logs.append(log_key(namespace, pod, container), text, Some(time)));
    }

    /// Nothing more will be written: who follows comes to the end. The same happens when the pod goes or its status says that the container
    /// has terminated.
    pub fn end_log(&self, namespace: &str, pod: &str, container: &str) {
        self.shared.change(|state| state.logs.end(log_key(namespace, pod, container)));
    }

    /// Every log that is being followed breaks off.
    pub fn drop_logs(&self) {
        self.shared.change(|state| state.cuts.logs_dropped += 1);
    }

    /// What `nodes/NODE/proxy/PATH` answers.
    pub fn set_node_proxy(&self, node: &str, path: &str, code: u16, body: impl Into<String>) {
        let key = (node.to_owned(), path.trim_matches('/').to_owned());
        self.shared.note(|state| state.proxied.insert(key, (code, body.into())));
    }

    /// Who carries out commands in containers. The handler may block. The pod must exist, and must not have come to its end.
    pub fn on_exec(&self, handler: impl Fn(ExecRequest) -> ExecReply + Send + Sync + 'static) {
        self.shared.note(|state| state.exec = Some(Arc::new(handler)));
    }

    /// Orders a fault. It strikes before anything else is looked at; if several would, the one that was ordered first.
    pub fn fault(&self, fault: Fault) {
        self.shared.note(|state| state.faults.push(fault));
    }

    /// Takes back every fault.
    pub fn clear_faults(&self) {
        self.shared.note(|state| state.faults.clear());
    }

    /// Forbids a verb (`get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or `*`) on a resource (`pods`,
    /// `pods/exec`, or `*`): access reviews say so, and requests are answered with 403.
    pub fn deny(&self, verb: &str, resource: &str) {
        self.shared.change(|state| state.denied.insert((verb.to_owned(), resource.to_owned())));
    }

    /// Takes back a [`Self::deny`] with the same words.
    pub fn allow(&self, verb: &str, resource: &str) {
        self.shared.change(|state| state.denied.remove(&(verb.to_owned(), resource.to_owned())));
    }

    /// Everything that was asked, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.look(|state| state.requests.clone())
    }

    /// Every open watch ends with an error of code 410. Versions before now are too old, for new watches and for further pages of a list.
    pub fn expire_watches(&self) {
        self.shared.change(|state| {
            state.cuts.watches_expired += 1;
            state.store.forget_changes();
        });
    }

    /// Every open watch breaks off without a word.
    pub fn drop_watches(&self) {
        self.shared.change(|state| state.cuts.watches_dropped += 1);
    }

    /// Every open watch that asked for bookmarks gets one.
    pub fn bookmark_watches(&self) {
        self.shared.change(|state| state.cuts.bookmarks += 1);
    }

    /// Waits until the objects of a resource satisfy a condition, and gives them.
    ///
    /// # Panics
    ///
    /// After 20 seconds, with what is there then.
    pub async fn changed(&self, resource: &str, until: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        self.wait(&format!("the condition on {resource}"), || self.list(resource), until).await
    }

    /// Waits until the requests so far satisfy a condition, and gives them.
    ///
    /// # Panics
    ///
    /// After 20 seconds, with what was asked by then.
    pub async fn requested(&self, until: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        self.wait("the condition on requests", || self.requests(), until).await
    }

    async fn wait<T: fmt::Debug>(&self, what: &str, look: impl Fn() -> Vec<T>, until: impl Fn(&[T]) -> bool) -> Vec<T> {
        let mut changed = self.shared.listen();
        let satisfied = async {
            loop {
                changed.borrow_and_update();
                let seen = look();
                // The other side of the channel lives as long as this double.
                if until(&seen) || changed.changed().await.is_err() {
                    return seen;
                }
            }
        };
        match timeout(PATIENCE, satisfied).await {
            Ok(seen) => seen,
            #[expect(clippy::panic, reason = "this is the assertion of a test")]
            Err(_) => panic!("{what} was not met within {PATIENCE:?}; there is: {:#?}", look()),
        }
    }
}

impl fmt::Debug for ApiDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiDouble").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// Under which key the objects of a resource are kept. Of a resource that nobody told of there are none.
fn id(state: &State, resource: &str) -> String {
    state.resources.named(resource).map_or_else(|| resource.to_owned(), Resource::id)
}

fn log_key(namespace: &str, pod: &str, container: &str) -> LogKey {
    (namespace.to_owned(), pod.to_owned(), container.to_owned())
}

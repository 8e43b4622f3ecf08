//! The server as tests see it.

use std::{fmt, io, net::TcpListener, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::api::{
    deletion::{self, Dependents},
    faults::Fault,
    json as at,
    resources::Resource,
    server,
    state::{ExecReply, ExecRequest, LogKey, Recorded, Shared, State},
    store::key_of,
};

/// How long [`ApiDouble::changed`] and [`ApiDouble::requested`] wait: far more than anything on
/// loopback takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Kubernetes API server in memory. Clones share the same server, which stops when the last one
/// is dropped.
///
/// Resources are named by their lower-case plural (`pods`, `daemonsets`), with the group if the
/// plural is ambiguous (`pods.metrics.k8s.io`). The namespace of cluster-scoped objects is the
/// empty string.
#[derive(Clone)]
pub struct ApiDouble {
    shared: Arc<Shared>,
    address: std::net::SocketAddr,
    _stop: Arc<Stop>,
}

/// Stops the server when the last owner is dropped.
struct Stop(CancellationToken);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl ApiDouble {
    /// Starts a server on a free loopback port. It only has the namespaces `default` and
    /// `kube-system`.
    ///
    /// The server runs on its own thread. It therefore answers while the test blocks, and does not
    /// depend on the test's clock.
    ///
    /// # Errors
    ///
    /// No port is available, or no thread can be started.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new());
        let stop = CancellationToken::new();
        server::spawn(listener, Arc::clone(&shared), stop.clone())?;
        Ok(Self { shared, address, _stop: Arc::new(Stop(stop)) })
    }

    /// Returns the URL of the server, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a kubeconfig (YAML) whose only context, `double`, is this server with the namespace
    /// `default`.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url())
    }

    /// Sets the version that `/version` reports. The default is `v1.30.2`.
    pub fn set_version(&self, git_version: &str) {
        self.shared.note(|state| state.git_version = git_version.to_owned());
    }

    /// Creates or replaces an object including its status, without validation, as a controller
    /// would.
    ///
    /// The server fills in kind, API version, UID, creation time and resource version. If the
    /// object of a namespaced resource has no namespace, it is `default`. An unknown resource is
    /// added, based on the object.
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

    /// Returns the current state of an object.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.shared.look(|state| {
            let object = state.store.get(&id(state, resource), namespace, name)?;
            Some(Value::clone(object))
        })
    }

    /// Returns all objects of a resource, ordered by namespace and name.
    pub fn list(&self, resource: &str) -> Vec<Value> {
        self.shared
            .look(|state| state.store.list(&id(state, resource)).map(|(_, object)| Value::clone(object)).collect())
    }

    /// Changes an object including its status, without validation, as a controller would. Returns
    /// whether the object exists.
    ///
    /// The name and namespace cannot be changed. The closure runs with the state locked, so it must
    /// not call the double.
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

    /// Deletes an object with its dependents, ignoring finalizers. Returns whether the object
    /// existed.
    pub fn remove(&self, resource: &str, namespace: &str, name: &str) -> bool {
        self.shared.change(|state| {
            let gone = state.store.erase(&id(state, resource), namespace, name);
            if let Some(gone) = &gone {
                deletion::disown(&mut state.store, at::text(gone, "/metadata/uid"), Dependents::Delete);
            }
            gone.is_some()
        })
    }

    /// Adds a resource (the core group is the empty string). The first version of a group is its
    /// preferred one. All versions of a resource have the same objects.
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

    /// Sets the log of a container. Streams that follow the previous log end, as if the container
    /// had restarted.
    pub fn set_log(&self, namespace: &str, pod: &str, container: &str, text: impl Into<String>) {
        self.shared.change(|state| state.logs.set(log_key(namespace, pod, container), &text.into()));
    }

    /// Sets the log of the container's previous instance (`previous=true`).
    pub fn set_previous_log(&self, namespace: &str, pod: &str, container: &str, text: impl Into<String>) {
        self.shared.change(|state| state.logs.set_previous(log_key(namespace, pod, container), &text.into()));
    }

    /// Appends one or more lines to a log. A missing line break at the end is added. Streams that
    /// follow the log end if the pod is deleted, or if its status says that the container has
    /// terminated.
    pub fn append_log(&self, namespace: &str, pod: &str, container: &str, text: &str) {
        self.shared.change(|state| state.logs.append(log_key(namespace, pod, container), text));
    }

    /// Interrupts every stream that follows a log.
    pub fn drop_logs(&self) {
        self.shared.change(|state| state.cuts.logs_dropped += 1);
    }

    /// Sets the response of `nodes/NODE/proxy/PATH`.
    pub fn set_node_proxy(&self, node: &str, path: &str, code: u16, body: impl Into<String>) {
        let key = (node.to_owned(), path.trim_matches('/').to_owned());
        self.shared.note(|state| state.proxied.insert(key, (code, body.into())));
    }

    /// Sets the handler for commands in containers. It may block. The pod must exist and must not
    /// have completed.
    pub fn on_exec(&self, handler: impl Fn(ExecRequest) -> ExecReply + Send + Sync + 'static) {
        self.shared.note(|state| state.exec = Some(Arc::new(handler)));
    }

    /// Adds a fault. Faults apply before anything else is checked. If several match, the first one
    /// that was added applies.
    pub fn fault(&self, fault: Fault) {
        self.shared.note(|state| state.faults.push(fault));
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.note(|state| state.faults.clear());
    }

    /// Denies a verb (`get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`, or `*`) on a resource (`pods`, `pods/exec`, or `*`). Access reviews
    /// report it, and requests get status 403.
    pub fn deny(&self, verb: &str, resource: &str) {
        self.shared.change(|state| state.denied.insert((verb.to_owned(), resource.to_owned())));
    }

    /// Reverts a [`Self::deny`] with the same arguments.
    pub fn allow(&self, verb: &str, resource: &str) {
        self.shared.change(|state| state.denied.remove(&(verb.to_owned(), resource.to_owned())));
    }

    /// Returns all requests, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.look(|state| state.requests.clone())
    }

    /// Ends every open watch with an error of code 410. Earlier versions expire, for new watches
    /// and for further pages of a list.
    pub fn expire_watches(&self) {
        self.shared.change(|state| {
            state.cuts.watches_expired += 1;
            state.store.forget_changes();
        });
    }

    /// Interrupts every open watch without an error event.
    pub fn drop_watches(&self) {
        self.shared.change(|state| state.cuts.watches_dropped += 1);
    }

    /// Waits until the objects of a resource satisfy a condition, and returns them.
    ///
    /// # Panics
    ///
    /// After 20 seconds, with the objects at that time.
    pub async fn changed(&self, resource: &str, until: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        self.wait(&format!("the condition on {resource}"), || self.list(resource), until).await
    }

    /// Waits until the recorded requests satisfy a condition, and returns them.
    ///
    /// # Panics
    ///
    /// After 20 seconds, with the requests at that time.
    pub async fn requested(&self, until: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        self.wait("the condition on requests", || self.requests(), until).await
    }

    async fn wait<T: fmt::Debug>(&self, what: &str, look: impl Fn() -> Vec<T>, until: impl Fn(&[T]) -> bool) -> Vec<T> {
        let mut changed = self.shared.listen();
        let satisfied = async {
            loop {
                changed.borrow_and_update();
                let seen = look();
                // The sender lives as long as this double.
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

/// Returns a kubeconfig for a server at this URL that needs no credentials.
pub(crate) fn kubeconfig(url: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: double\n\
         clusters:\n- name: double\n  cluster:\n    server: {url}\n\
         users:\n- name: double\n  user: {{}}\n\
         contexts:\n- name: double\n  context:\n    cluster: double\n    user: double\n    namespace: default\n"
    )
}

/// Returns the key under which the objects of a resource are stored. An unknown resource has no
/// objects.
fn id(state: &State, resource: &str) -> String {
    state.resources.named(resource).map_or_else(|| resource.to_owned(), Resource::id)
}

fn log_key(namespace: &str, pod: &str, container: &str) -> LogKey {
    (namespace.to_owned(), pod.to_owned(), container.to_owned())
}

//! Access to the API server: one request at a time, with a timeout, and with credentials that are
//! renewed after a rejection.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use http::Request;
use http::header::CONTENT_TYPE;
use kube::client::Body;
use kube::core::WatchEvent;
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions, Refusal, ask_within};
use serde_json::Value;

/// Timeout of one request. Only this timeout detects a connection that broke silently.
const ATTEMPT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb<'a> {
    /// Read an object.
    Get,
    /// Create this object.
    Create(&'a Value),
    /// Apply a JSON merge patch (RFC 7396).
    Merge(&'a Value),
}

/// Access to the API server.
pub struct Access {
    cluster: Mutex<Cluster>,
    /// How the configuration was found, or `None` for a client that was passed in.
    options: Option<ConnectOptions>,
}

impl Access {
    /// Connects with the service account of this pod, unless a kubeconfig or context is given, or
    /// this is not a pod.
    ///
    /// # Errors
    /// Returns an error if there is no usable configuration.
    pub async fn connect(options: ConnectOptions) -> Result<Self, ClusterError> {
        let cluster = Mutex::new(find(&options).await?);
        Ok(Self { cluster, options: Some(options) })
    }

    /// Uses an existing client.
    pub fn with(cluster: Cluster) -> Self {
        Self { cluster: Mutex::new(cluster), options: None }
    }

    fn cluster(&self) -> Cluster {
        // The guarded value is replaced as a whole, so a panic cannot leave it half-written.
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads the credentials. A rotated token is in its file before the old one is rejected.
    async fn renew(&self) {
        let Some(options) = &self.options else { return };
        match find(options).await {
            Ok(cluster) => *self.cluster.lock().unwrap_or_else(PoisonError::into_inner) = cluster,
            Err(error) => tracing::debug!("failed to reload the credentials: {error}"),
        }
    }

    /// Sends one request, and returns the response as JSON. `what` completes the message "failed to
    /// …".
    pub(crate) async fn once(&self, what: &str, verb: Verb<'_>, path: &str) -> Result<Value, Refusal> {
        let request = request(what, verb, path)?;
        let answer = ask_within(ATTEMPT, &self.cluster(), what, request).await;
        if answer.as_ref().is_err_and(|refusal| refusal.error.code == Some(401)) {
            self.renew().await;
        }
        answer
    }

    /// Watches objects. The stream ends when the server ends it.
    pub(crate) async fn watch(
        &self,
        request: Request<Vec<u8>>,
    ) -> kube::Result<impl Stream<Item = kube::Result<WatchEvent<Value>>> + use<>> {
        self.cluster().client().request_events(request).await
    }
}

async fn find(options: &ConnectOptions) -> Result<Cluster, ClusterError> {
    let in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty());
    match *options == ConnectOptions::default() && in_pod {
        // A kubeconfig in the image's home directory is not intended for the reporter.
        true => Cluster::in_pod(),
        false => Cluster::connect(options).await,
    }
}

fn request(what: &str, verb: Verb<'_>, path: &str) -> Result<Request<Body>, Refusal> {
    let (request, body) = match verb {
        Verb::Get => (Request::get(path), Vec::new()),
        Verb::Create(object) => {
            (Request::post(path).header(CONTENT_TYPE, "application/json"), object.to_string().into_bytes())
        }
        Verb::Merge(patch) => {
            (Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json"), patch.to_string().into_bytes())
        }
    };
    request.body(Body::from(body)).map_err(|error| Refusal::of(ClusterError::new(what, error.to_string())))
}

//! The way to the API server: one request at a time, bounded in time, with credentials that are renewed when they are refused.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use http::Request;
use http::header::CONTENT_TYPE;
use kube::client::Body;
use kube::core::WatchEvent;
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions, Refusal, ask};
use serde_json::Value;

/// How long one request may take. A connection that broke without a word is noticed by nothing else.
const ATTEMPT: Duration = Duration::from_secs(10);

/// What a request is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb<'a> {
    /// Read.
    Get,
    /// Create, from this object.
    Create(&'a Value),
    /// Change, by a JSON merge patch (RFC 7396).
    Merge(&'a Value),
}

/// The way to the API server.
pub struct Access {
    cluster: Mutex<Cluster>,
    /// How it was found; `None`: it was given.
    options: Option<ConnectOptions>,
}

impl Access {
    /// By the service account of the pod that this runs in, unless a kubeconfig or a context is named or this is no pod.
    ///
    /// # Errors
    /// When there is no usable configuration.
    pub async fn connect(options: ConnectOptions) -> Result<Self, ClusterError> {
        let cluster = Mutex::new(find(&options).await?);
        Ok(Self { cluster, options: Some(options) })
    }

    /// By a client that is there already.
    #[must_use]
    pub fn with(cluster: Cluster) -> Self {
        Self { cluster: Mutex::new(cluster), options: None }
    }

    fn cluster(&self) -> Cluster {
        // A clone of a client cannot be half-written.
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the credentials anew: a token that was rotated is in its file before the old one is refused.
    async fn renew(&self) {
        let Some(options) = &self.options else { return };
        match find(options).await {
            Ok(cluster) => *self.cluster.lock().unwrap_or_else(PoisonError::into_inner) = cluster,
            Err(error) => tracing::debug!("the credentials could not be read again: {error}"),
        }
    }

    /// One request; the answer as JSON. `what` reads after «failed to».
    pub(crate) async fn once(&self, what: &str, verb: Verb<'_>, path: &str) -> Result<Value, Refusal> {
        let request = request(what, verb, path)?;
        let answer = match tokio::time::timeout(ATTEMPT, ask(&self.cluster(), what, request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let cause = format!("the API server gave no answer within {} s", ATTEMPT.as_secs());
                Err(Refusal::of(ClusterError::new(what, cause)))
            }
        };
        if answer.as_ref().is_err_and(|refusal| refusal.error.code == Some(401)) {
            self.renew().await;
        }
        answer
    }

    /// Watches objects; the stream ends when the server ends it.
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
        // What lies in a home directory of the image is not meant for this.
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

//! `pods/log`.

use std::{io, sync::Arc};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::watch::Receiver;

use crate::{
    answer::{self, Answer},
    failure::Failure,
    json,
    logs::{LogKey, Wish},
    path::ObjectPath,
    query::Query,
    resources::Resource,
    state::{Shared, State},
};

/// Answers a request for a log.
pub(crate) fn open(
    shared: &Arc<Shared>,
    resource: &Resource,
    path: &ObjectPath,
    query: &Query,
) -> Result<Answer, Failure> {
    let mut wish = Wish::of(query)?;
    let changed = shared.listen();
    let (key, first, follow) = shared.look(|state| {
        let key = find(state, resource, path, query)?;
        if wish.previous {
            let lines = state.logs.previous(&key).ok_or_else(|| {
                let message = format!("previous terminated container \"{}\" in pod \"{}\" not found", key.2, key.1);
                Failure::bad_request(message)
            })?;
            return Ok((key, wish.first(lines), None));
        }
        let first = state.logs.get(&key).map(|log| wish.first(&log.lines)).unwrap_or_default();
        let follow = wish.follow.then(|| {
            let log = state.logs.get(&key);
            let there = state.store.get("pods", &key.0, &key.1).is_some();
            (log.map_or(0, |log| log.generation), log.map_or(0, |log| log.lines.len()), state.cuts.logs_dropped, there)
        });
        Ok((key, first, follow))
    })?;
    let Some((generation, sent, drops, pod_was_there)) = follow else {
        return Ok(answer::text(200, first));
    };
    let follower = Follower {
        shared: Arc::clone(shared),
        changed,
        key,
        wish,
        first: Some(first.into()),
        generation,
        sent,
        drops,
        pod_was_there,
        broken: false,
    };
    let frames = stream::unfold(follower, |mut follower| async move {
        let frame = follower.next().await?;
        Some((frame.map(Frame::data), follower))
    });
    Ok(answer::stream("text/plain; charset=utf-8", StreamBody::new(frames)))
}

/// Returns the container that the request means.
fn find(state: &State, resource: &Resource, path: &ObjectPath, query: &Query) -> Result<LogKey, Failure> {
    let namespace = path.namespace.clone().unwrap_or_default();
    let name = path.name.clone().unwrap_or_default();
    let pod = state.store.get("pods", &namespace, &name);
    let asked = query.get("container").map(|container| (namespace.clone(), name.clone(), container.to_owned()));
    // A test may set a log before it creates the pod.
    if let Some(key) = asked.as_ref().filter(|key| state.logs.get(key).is_some() || state.logs.previous(key).is_some())
    {
        return Ok(key.clone());
    }
    let pod = pod.ok_or_else(|| Failure::not_found(resource, &name))?;
    let container = choose_container(pod, query.get("container"))?;
    let key = (namespace, name, container);
    if state.logs.get(&key).is_none()
        && let Some(reason) = container_status(pod, &key.2).and_then(|status| status.pointer("/state/waiting/reason"))
    {
        let message = format!(
            "container \"{}\" in pod \"{}\" is waiting to start: {}",
            key.2,
            key.1,
            reason.as_str().unwrap_or_default()
        );
        return Err(Failure::bad_request(message));
    }
    Ok(key)
}

/// Returns the container in a request, or else the pod's only one.
pub(crate) fn choose_container(pod: &Value, asked: Option<&str>) -> Result<String, Failure> {
    let pod_name = json::text(pod, "/metadata/name");
    let names = |list: &str| {
        let containers = json::array(pod, &format!("/spec/{list}"));
        containers.iter().map(|container| json::text(container, "/name").to_owned()).collect::<Vec<_>>()
    };
    let ordinary = names("containers");
    let all = [names("initContainers"), ordinary.clone(), names("ephemeralContainers")].concat();
    match (asked, ordinary.as_slice()) {
        // A pod without a spec has every container.
        (Some(asked), _) if all.is_empty() || all.iter().any(|name| name == asked) => Ok(asked.to_owned()),
        (Some(asked), _) => Err(Failure::bad_request(format!("container {asked} is not valid for pod {pod_name}"))),
        (None, [only]) => Ok(only.clone()),
        (None, _) => {
            let names = ordinary.join(" ");
            let message = format!("a container name must be specified for pod {pod_name}, choose one of: [{names}]");
            Err(Failure::bad_request(message))
        }
    }
}

/// Returns the status of a container in the pod's status.
pub(crate) fn container_status<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"]
        .iter()
        .flat_map(|list| json::array(pod, &format!("/status/{list}")))
        .find(|status| json::text(status, "/name") == container)
}

/// Returns whether a container will write no more.
fn is_over(pod: &Value, container: &str) -> bool {
    matches!(json::text(pod, "/status/phase"), "Succeeded" | "Failed")
        || container_status(pod, container).is_some_and(|status| status.pointer("/state/terminated").is_some())
}

/// A stream that follows a log.
struct Follower {
    shared: Arc<Shared>,
    changed: Receiver<()>,
    key: LogKey,
    wish: Wish,
    first: Option<Bytes>,
    generation: u64,
    /// The number of lines sent.
    sent: usize,
    drops: u64,
    pod_was_there: bool,
    broken: bool,
}

impl Follower {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Some(Ok(first));
        }
        loop {
            if self.broken || self.wish.budget == Some(0) {
                return None;
            }
            self.changed.borrow_and_update();
            let shared = Arc::clone(&self.shared);
            let (text, over) = shared.look(|state| self.catch_up(state));
            if self.broken {
                return Some(Err(io::Error::from(io::ErrorKind::ConnectionAborted)));
            }
            if !text.is_empty() {
                return Some(Ok(text.into()));
            }
            if over || self.changed.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Returns the new text, and whether the stream ends after it.
    fn catch_up(&mut self, state: &State) -> (String, bool) {
        if state.cuts.logs_dropped != self.drops {
            self.broken = true;
            return (String::new(), true);
        }
        let log = state.logs.get(&self.key);
        if log.is_some_and(|log| log.generation != self.generation) {
            return (String::new(), true);
        }
        let text = match log.and_then(|log| log.lines.get(self.sent..)) {
            Some(new) => {
                self.sent += new.len();
                self.wish.text(new.iter())
            }
            None => String::new(),
        };
        let over = match state.store.get("pods", &self.key.0, &self.key.1) {
            Some(pod) => is_over(pod, &self.key.2),
            None => self.pod_was_there,
        };
        (text, over || log.is_some_and(|log| log.ended))
    }
}

//! The answers to requests for `pods/log`.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch::Receiver;

use crate::api::{
    answer::{self, Answer, Failure},
    json,
    request::{ObjectPath, Query},
    resources::Resource,
    state::{Line, LogKey, Shared, State},
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

/// The parameters of a request for a log.
#[derive(Debug, Clone, Default)]
struct Wish {
    follow: bool,
    previous: bool,
    timestamps: bool,
    tail: Option<usize>,
    since: Option<Timestamp>,
    /// The number of bytes that may still be sent.
    budget: Option<usize>,
}

impl Wish {
    fn of(query: &Query) -> Result<Self, Failure> {
        let ago = query.parsed::<u32>("sinceSeconds")?;
        let ago = ago.and_then(|ago| Timestamp::now().checked_sub(Duration::from_secs(ago.into())).ok());
        Ok(Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            tail: query.parsed("tailLines")?,
            since: query.parsed("sinceTime")?.or(ago),
            budget: query.parsed("limitBytes")?,
        })
    }

    /// Returns the initial text: the lines since the requested time, or the last of them.
    fn first(&mut self, lines: &[Line]) -> String {
        let mut wanted: Vec<&Line> =
            lines.iter().filter(|line| self.since.is_none_or(|since| line.time >= since)).collect();
        if let Some(tail) = self.tail {
            wanted.drain(..wanted.len().saturating_sub(tail));
        }
        self.text(wanted.into_iter())
    }

    /// Returns the text of lines, cut at the limit of bytes.
    fn text<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) -> String {
        let mut out = String::new();
        for line in lines {
            if self.timestamps {
                out.push_str(&line.time.to_string());
                out.push(' ');
            }
            out.push_str(&line.text);
        }
        if let Some(budget) = &mut self.budget {
            out.truncate(out.floor_char_boundary(*budget));
            *budget = budget.saturating_sub(out.len());
        }
        out
    }
}

/// A stream that follows a log.
struct Follower {
    shared: Arc<Shared>,
    changed: Receiver<()>,
    key: LogKey,
    wish: Wish,
    first: Option<Bytes>,
    generation: u64,
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
        (text, over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> String {
        let line = |(second, text): (i64, &str)| Line {
            time: Timestamp::from_second(second).unwrap(),
            text: format!("{text}\n"),
        };
        let lines = [(1, "one"), (2, "two"), (3, "three")].map(line);
        Wish::of(&Query::parse(query)).unwrap().first(&lines)
    }

    #[test]
    fn tail_limit_and_times_choose_lines() {
        assert_eq!(asked(""), "one\ntwo\nthree\n");
        assert_eq!(asked("tailLines=2"), "two\nthree\n");
        assert_eq!(asked("tailLines=0"), "");
        assert_eq!(asked("limitBytes=5"), "one\nt");
        assert_eq!(asked("sinceTime=1970-01-01T00:00:02Z"), "two\nthree\n");
        assert_eq!(asked("timestamps=true&tailLines=1"), "1970-01-01T00:00:03Z three\n");
        assert!(Wish::of(&Query::parse("tailLines=-1")).is_err());
    }
}

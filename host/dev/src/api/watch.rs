//! Watches.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use plumbline_core::Selector;
use serde_json::{Value, json};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, sleep_until},
};

use crate::api::{
    answer::{self, Answer, Failure},
    json as at,
    read::Shape,
    request::{ObjectPath, Request},
    resources::Resource,
    selector::selector,
    state::{Cuts, Shared, State},
    store::{Change, Key, key_of},
};

/// How long a watch without a timeout lasts: the minimum of a real server.
const LONGEST: Duration = Duration::from_mins(30);
/// How long before its end a watch sends a bookmark, if the client allows it.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

struct Watch {
    shared: Arc<Shared>,
    changed: Receiver<()>,
    resource: Resource,
    id: String,
    path: ObjectPath,
    selector: Selector,
    shape: Shape,
    /// The version up to which all changes were sent.
    sent_version: u64,
    lines: VecDeque<Bytes>,
    cuts: Cuts,
    /// When to send the bookmark before the end; `None` without one, and after it was sent.
    bookmark_at: Option<Instant>,
    until: Instant,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The watch continues.
    Open,
    /// The watch ends after the pending lines.
    Quiet,
    /// The watch ends now, as if the connection had broken.
    Broken,
}

/// Opens a watch. If its start version has expired, the stream has an error event.
pub(crate) fn open(
    shared: &Arc<Shared>,
    resource: &Resource,
    path: &ObjectPath,
    request: &Request,
    shape: Shape,
) -> Result<Answer, Failure> {
    let query = &request.query;
    let selector = selector(query, resource)?;
    let from = query.parsed::<u64>("resourceVersion")?.filter(|version| *version > 0);
    let initial = query.flag("sendInitialEvents");
    if initial && query.get("resourceVersionMatch") != Some("NotOlderThan") {
        let message = "sendInitialEvents needs resourceVersionMatch=NotOlderThan";
        return Err(Failure::plain(422, message));
    }
    let timeout = query.parsed::<u32>("timeoutSeconds")?.filter(|seconds| *seconds > 0);
    let timeout = timeout.map_or(LONGEST, |seconds| Duration::from_secs(seconds.into()));
    let now = Instant::now();
    let bookmark_after = timeout.checked_sub(BOOKMARK_BEFORE_END).filter(|_| query.flag("allowWatchBookmarks"));
    let mut watch = Watch {
        shared: Arc::clone(shared),
        changed: shared.listen(),
        resource: resource.clone(),
        id: resource.id(),
        path: path.clone(),
        selector,
        shape,
        sent_version: 0,
        lines: VecDeque::new(),
        cuts: request.cuts,
        bookmark_at: bookmark_after.map(|after| now + after),
        until: now + timeout,
        end: End::Open,
    };
    shared.look(|state| watch.begin(state, from, initial));
    let frames = stream::unfold(watch, |mut watch| async move {
        let frame = watch.next().await?;
        Some((frame.map(Frame::data), watch))
    });
    Ok(answer::stream("application/json", StreamBody::new(frames)))
}

impl Watch {
    fn begin(&mut self, state: &State, from: Option<u64>, initial: bool) {
        self.sent_version = from.unwrap_or(state.store.version());
        if initial || from.is_none() {
            for (key, object) in state.store.list(&self.id) {
                if self.concerns(key) && self.selector.matches(object) {
                    self.push_event("ADDED", self.shape.show(&self.resource, object));
                }
            }
            self.sent_version = state.store.version();
            if initial {
                self.bookmark(json!({"k8s.io/initial-events-end": "true"}));
            }
        } else if state.store.changes.is_too_old(self.sent_version) {
            self.expire();
        }
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if self.end == End::Broken {
                // Return an error once and then nothing, so that the server closes the connection
                // in the middle of the body.
                self.end = End::Quiet;
                self.lines.clear();
                return Some(Err(io::Error::from(io::ErrorKind::ConnectionAborted)));
            }
            if let Some(line) = self.lines.pop_front() {
                return Some(Ok(line));
            }
            if self.end == End::Quiet {
                return None;
            }
            // Mark the current state as seen first, so that no change between reading and waiting
            // is missed.
            self.changed.borrow_and_update();
            let shared = Arc::clone(&self.shared);
            shared.look(|state| self.catch_up(state));
            if self.lines.is_empty() && self.end == End::Open {
                tokio::select! {
                    _ = self.changed.changed() => {}
                    () = sleep_until(self.bookmark_at.unwrap_or(self.until)) => self.time_is_up(),
                }
            }
        }
    }

    fn catch_up(&mut self, state: &State) {
        if state.cuts.watches_dropped != self.cuts.watches_dropped {
            self.end = End::Broken;
            return;
        }
        let expired = state.cuts.watches_expired != self.cuts.watches_expired;
        if expired || state.store.changes.is_too_old(self.sent_version) {
            self.expire();
            return;
        }
        for change in state.store.changes.since(self.sent_version) {
            if *change.resource == *self.id && self.concerns(&key_of(&change.after)) {
                self.tell_change(change);
            }
        }
        self.sent_version = state.store.version();
    }

    fn concerns(&self, (namespace, name): &Key) -> bool {
        self.path.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
            && self.path.name.as_ref().is_none_or(|wanted| wanted == name)
    }

    /// Sends an event for a change. An object that starts to match the selector is added for this
    /// watch, and one that ceases to match is deleted.
    fn tell_change(&mut self, change: &Change) {
        let was = change.before.as_ref().is_some_and(|before| self.selector.matches(before));
        let is = !change.gone && self.selector.matches(&change.after);
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        self.push_event(kind, self.shape.show(&self.resource, &change.after));
    }

    /// Sends the bookmark before the end, or ends the watch.
    fn time_is_up(&mut self) {
        match self.bookmark_at.take() {
            Some(_) => self.bookmark(Value::Null),
            None => self.end = End::Quiet,
        }
    }

    /// Sends a bookmark with the version up to which all changes were sent.
    fn bookmark(&mut self, annotations: Value) {
        let mut metadata = json!({"resourceVersion": self.sent_version.to_string(), "creationTimestamp": null});
        if !annotations.is_null() {
            at::set(&mut metadata, &["annotations"], annotations);
        }
        let object =
            json!({"kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata});
        self.push_event("BOOKMARK", object);
    }

    fn expire(&mut self) {
        let failure = Failure::expired(format!("too old resource version: {}", self.sent_version));
        self.push_event("ERROR", failure.body());
        self.end = End::Quiet;
    }

    fn push_event(&mut self, kind: &str, object: Value) {
        // The type comes first, as from a real server: clients read the object after it without a copy.
        self.lines.push_back(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into());
    }
}

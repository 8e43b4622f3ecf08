//! Dispatch of requests to handlers, and small bodies: progress updates, hellos, heartbeats and
//! error documents. All of them together take limited memory while they arrive.

use axum::body::{Body, BodyDataStream};
use axum::http::header::{ALLOW, CONTENT_TYPE, LOCATION};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use jiff::Timestamp;
use plumbline_core::ledger::Event;
use plumbline_core::progress::ProgressUpdate;
use plumbline_core::{PluginName, ResultKey};
use plumbline_phonehome::{
    CONTENT_TYPE_JSON, Heartbeat, HeartbeatAnswer, Hello, MAX_HEARTBEAT_BYTES, PeerIdentity, Route, RouteError,
    RouteKind,
};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::receive::Receiver;
use super::response::{ReceiveError, drain_after, line, refuse, refused};
use super::shares::Share;
use crate::state::ApplyError;

/// Size in bytes above which messages are parsed one at a time.
const LONG: usize = 16 << 10;

/// Handles and counts a request of the worker `peer`.
pub(super) async fn handle(receiver: &Receiver, peer: &PeerIdentity, request: Request<Body>) -> Response {
    let route = Route::parse(request.uri().path());
    let kind = route.as_ref().ok().map(|route| route.kind);
    let response = dispatch(receiver, peer, route, request).await;
    receiver.state.metrics().answered(kind, response.status());
    response
}

async fn dispatch(
    receiver: &Receiver,
    peer: &PeerIdentity,
    route: Result<Route, RouteError>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let route = match route {
        Ok(route) => route,
        Err(RouteError::NotCanonical(path)) => {
            return (StatusCode::MOVED_PERMANENTLY, [(LOCATION, path)]).into_response();
        }
        Err(RouteError::NotFound) => {
            refuse(&parts.headers, body).await;
            return line(StatusCode::NOT_FOUND, "no such route");
        }
    };
    if !route.allows(&parts.method) {
        refuse(&parts.headers, body).await;
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, route.kind.method().as_str())]).into_response();
    }
    let key = route.key;
    if !peer.may_act_for(&key.plugin) {
        refuse(&parts.headers, body).await;
        let text = format!("this certificate is not valid for plugin {}", key.plugin);
        return line(StatusCode::FORBIDDEN, &text);
    }
    match route.kind {
        RouteKind::Results => receiver.put(key, &parts.headers, body).await,
        RouteKind::Partial => receiver.put_partial(key, &parts.headers, body).await,
        RouteKind::Progress | RouteKind::Hello | RouteKind::Heartbeat => message(receiver, route.kind, key, body).await,
    }
}

/// Handles a small message.
async fn message(receiver: &Receiver, kind: RouteKind, key: ResultKey, body: Body) -> Response {
    let limit = match kind {
        RouteKind::Progress => receiver.limits.message_bytes,
        _ => receiver.limits.message_bytes.min(MAX_HEARTBEAT_BYTES as u64),
    };
    let message = match receiver.read_message(&key.plugin, body, limit).await {
        Ok(message) => message,
        Err(error) => return error.response(&format!("message of {key}")),
    };
    let _turn = receiver.turn_to_parse(&message).await;
    let bytes = &message.bytes;
    let event = match kind {
        RouteKind::Hello => match Hello::parse(bytes) {
            Ok(_) => Event::Hello { key: key.clone() },
            Err(error) => return line(StatusCode::BAD_REQUEST, &format!("invalid hello: {error}")),
        },
        RouteKind::Heartbeat => match Heartbeat::parse(bytes) {
            Ok(_) => Event::Heartbeat { key: key.clone() },
            Err(error) => return line(StatusCode::BAD_REQUEST, &format!("invalid heartbeat: {error}")),
        },
        _ => match ProgressUpdate::from_body(bytes) {
            Ok(mut update) => {
                update.stamp(&key, Timestamp::now());
                Event::Progress { key: key.clone(), update }
            }
            Err(_) => return StatusCode::BAD_REQUEST.into_response(),
        },
    };
    match receiver.state.apply(event) {
        Ok(()) if kind == RouteKind::Heartbeat => match receiver.state.heartbeat_answer(&key) {
            nothing if nothing == HeartbeatAnswer::default() => StatusCode::OK.into_response(),
            answer => ([(CONTENT_TYPE, CONTENT_TYPE_JSON)], answer.to_json()).into_response(),
        },
        Ok(()) => StatusCode::OK.into_response(),
        Err(ApplyError::Refused(refusal)) => refused(&key, &refusal),
        Err(error) => line(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// A small body, and its share of the memory.
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    memory: Share,
}

impl Receiver {
    /// Reads a small body of a worker of `plugin` completely.
    pub(super) async fn read_message(
        &self,
        plugin: &PluginName,
        body: Body,
        limit: u64,
    ) -> Result<Message, ReceiveError> {
        let mut stream = body.into_data_stream();
        let collected = timeout(self.limits.idle(), self.collect(plugin, &mut stream, limit)).await;
        let message = collected.unwrap_or(Err(ReceiveError::Idle(self.limits.idle_seconds)));
        if let Err(error) = &message {
            drain_after(error, &mut stream).await;
        }
        message
    }

    async fn collect(
        &self,
        plugin: &PluginName,
        stream: &mut BodyDataStream,
        limit: u64,
    ) -> Result<Message, ReceiveError> {
        let mut message = Message { bytes: Vec::new(), memory: self.memory.of(plugin.as_str()) };
        while let Some(frame) = stream.next().await.transpose().map_err(ReceiveError::Broken)? {
            if (message.bytes.len() + frame.len()) as u64 > limit {
                return Err(ReceiveError::TooLarge(limit));
            }
            if !message.memory.grow(frame.len()) {
                return Err(ReceiveError::Busy);
            }
            // A frame keeps a whole buffer of the connection in memory, even if it has one byte.
            message.bytes.extend_from_slice(&frame);
        }
        Ok(message)
    }

    /// Waits until `message` may be parsed. A long one may take a hundred times its size in memory
    /// meanwhile.
    async fn turn_to_parse(&self, message: &Message) -> Option<SemaphorePermit<'_>> {
        if message.bytes.len() <= LONG {
            return None;
        }
        // The semaphore is never closed.
        self.parsing.acquire().await.ok()
    }
}

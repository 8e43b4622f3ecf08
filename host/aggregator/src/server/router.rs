//! Dispatch of requests to handlers.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::{Response, StatusCode};
use axum::{Extension, Router};
use jiff::Timestamp;
use plumbline_core::ledger::Event;
use plumbline_core::progress::ProgressUpdate;
use plumbline_phonehome::{Heartbeat, HeartbeatAnswer, Hello, PeerIdentity, Route, RouteError, RouteKind};

use super::answer;
use super::receive::{Receiver, read_small, refuse};
use crate::state::ApplyError;

/// Returns a router for every route of the protocol. There is a single handler, because the
/// protocol's own parser handles both spellings and the canonical form of paths.
pub(super) fn router(receiver: Arc<Receiver>) -> Router {
    Router::new().fallback(handle).with_state(receiver)
}

async fn handle(
    Shared(receiver): Shared<Arc<Receiver>>,
    Extension(peer): Extension<Arc<PeerIdentity>>,
    Extension(address): Extension<SocketAddr>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let route = match Route::parse(parts.uri.path()) {
        Ok(route) => route,
        Err(RouteError::NotCanonical(path)) => return answer::moved(&path),
        Err(RouteError::NotFound) => {
            refuse(&parts.headers, body).await;
            return answer::line(StatusCode::NOT_FOUND, "no such route");
        }
    };
    if !route.allows(&parts.method) {
        refuse(&parts.headers, body).await;
        return answer::wrong_method(&route.kind.method());
    }
    let key = route.key;
    if !peer.may_act_for(&key.plugin) {
        refuse(&parts.headers, body).await;
        let text = format!("this certificate does not speak for plugin {}", key.plugin);
        return answer::line(StatusCode::FORBIDDEN, &text);
    }
    if route.kind == RouteKind::Results {
        return receiver.put(key, &parts.headers, body).await;
    }
    if route.kind == RouteKind::Partial {
        return receiver.put_partial(key, &parts.headers, body).await;
    }
    let bytes = match read_small(body, &receiver.limits).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let event = match route.kind {
        RouteKind::Progress => match ProgressUpdate::from_body(&bytes) {
            Ok(mut update) => {
                update.stamp(&key, Timestamp::now());
                Event::Progress { key: key.clone(), update }
            }
            Err(_) => return answer::empty(StatusCode::BAD_REQUEST),
        },
        RouteKind::Hello => match Hello::parse(&bytes) {
            Ok(hello) => Event::Hello { key: key.clone(), from: format!("{address}, worker {}", hello.version) },
            Err(error) => return answer::line(StatusCode::BAD_REQUEST, &format!("not a hello: {error}")),
        },
        RouteKind::Heartbeat => match Heartbeat::parse(&bytes) {
            Ok(_) => Event::Heartbeat { key: key.clone() },
            Err(error) => return answer::line(StatusCode::BAD_REQUEST, &format!("not a heartbeat: {error}")),
        },
        RouteKind::Results | RouteKind::Partial => return answer::empty(StatusCode::METHOD_NOT_ALLOWED),
    };
    match receiver.state.apply(event) {
        Ok(()) if route.kind == RouteKind::Heartbeat => match receiver.state.heartbeat_answer(&key) {
            nothing if nothing == HeartbeatAnswer::default() => answer::empty(StatusCode::OK),
            told => answer::json(told.to_json()),
        },
        Ok(()) => answer::empty(StatusCode::OK),
        Err(ApplyError::Refused(refusal)) => answer::refused(&key, &refusal),
        Err(error) => answer::line(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

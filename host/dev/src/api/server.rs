//! The server: accepts connections, records requests, and applies faults first.

use std::{convert::Infallible, io, net::TcpListener, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, runtime, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::api::{
    answer::{self, Answer, Failure},
    faults::{self, FaultKind},
    request::{Query, Request},
    route,
    state::{Recorded, Shared},
};

/// Maximum size of a request body in bytes, as in a real server.
const BODY: usize = 3 * 1024 * 1024;
/// Pause after an error in accepting a connection, which avoids a busy loop while the system has no
/// file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// Serves on a thread with its own runtime until it is stopped. A test may block its own thread
/// (for example to wait for a command) or stop its clock, and requests are still answered.
pub(crate) fn spawn(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let serve = move || {
        runtime.block_on(stop.run_until_cancelled(accept(listener, shared)));
        // Do not wait for exec handlers that still block.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("api-double".into()).spawn(serve)?;
    Ok(())
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> io::Result<Infallible> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        // Errors affect one connection (it was reset), or are temporary shortages of the system.
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, Arc::clone(&shared)))),
            Err(_) => sleep(ACCEPT_AGAIN).await,
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Send small responses at once. If the system does not support that, they are a little later.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| serve(Arc::clone(&shared), request));
    // An error on one connection does not affect others, and its client sees it.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades().await);
}

async fn serve(shared: Arc<Shared>, mut request: http::Request<Incoming>) -> io::Result<Answer> {
    let upgrade = request.headers().contains_key(header::UPGRADE).then(|| hyper::upgrade::on(&mut request));
    let (parts, body) = request.into_parts();
    let body = read(body).await?;
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let recorded = Recorded {
        method: parts.method.to_string(),
        path: path.clone(),
        query: query.clone(),
        body: body.as_deref().unwrap_or_default().to_vec(),
        content_type: content_type.unwrap_or_default().to_owned(),
        status: 0,
    };
    let (number, fault, cuts) = shared.change(|state| {
        state.requests.push(recorded);
        let fault = faults::strike(&mut state.faults, parts.method.as_str(), &format!("{path}?{query}"));
        (state.requests.len() - 1, fault, state.cuts)
    });
    let request = body.map(|body| Request {
        method: parts.method,
        path,
        query: Query::parse(&query),
        headers: parts.headers,
        body,
        upgrade,
        cuts,
    });
    let answer = match (fault, request) {
        (Some(FaultKind::Reset), _) => return Err(closed()),
        (Some(FaultKind::LostAnswer), request) => {
            drop(answered(&shared, request));
            return Err(closed());
        }
        (Some(FaultKind::Status { code, message, retry_after }), _) => {
            answer::failure(&Failure::plain(code, message).retry_after(retry_after))
        }
        (Some(FaultKind::Text { code, body }), _) => answer::text(code, body),
        (Some(FaultKind::Stall(time)), request) => {
            sleep(time).await;
            answered(&shared, request)
        }
        (None, request) => answered(&shared, request),
    };
    shared.change(|state| {
        if let Some(recorded) = state.requests.get_mut(number) {
            recorded.status = answer.status().as_u16();
        }
    });
    Ok(answer)
}

fn answered(shared: &Arc<Shared>, request: Option<Request>) -> Answer {
    match request {
        Some(request) => route::answer(shared, request),
        None => answer::failure(&Failure::plain(
            StatusCode::PAYLOAD_TOO_LARGE.as_u16(),
            format!("Request entity too large: limit is {BODY}"),
        )),
    }
}

/// Returns the body; `None` if it is too large.
async fn read(body: Incoming) -> io::Result<Option<Bytes>> {
    match Limited::new(body, BODY).collect().await {
        Ok(body) => Ok(Some(body.to_bytes())),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Ok(None),
        // The client disconnected.
        Err(_) => Err(closed()),
    }
}

/// The error that closes a connection without a response.
fn closed() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

//! `pods/exec` over WebSocket.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderValue, StatusCode, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, time::timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error, Message, handshake::derive_accept_key, protocol::Role},
};

use crate::api::{
    answer::{self, Answer, Failure},
    json as at,
    logs::{choose_container, container_status},
    request::{ObjectPath, Query, Request},
    resources::Resource,
    state::{ExecHandler, ExecReply, ExecRequest, Shared},
};

/// The supported protocols, the preferred one first.
const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// Number of bytes of output in one message.
const CHUNK: usize = 32 * 1024;
/// How long a client may take to close the connection.
const GOODBYE: Duration = Duration::from_secs(5);

/// Answers an exec request: switches the protocol, and runs the handler of the test.
pub(crate) fn open(
    shared: &Arc<Shared>,
    resource: &Resource,
    path: &ObjectPath,
    request: Request,
) -> Result<Answer, Failure> {
    let namespace = path.namespace.clone().unwrap_or_default();
    let pod = path.name.clone().unwrap_or_default();
    let (container, handler) = shared.look(|state| {
        let found = state.store.get("pods", &namespace, &pod).ok_or_else(|| Failure::not_found(resource, &pod))?;
        let container = running_container(found, request.query.get("container"))?;
        Ok::<_, Failure>((container, state.exec.clone()))
    })?;
    let command = request.query.all("command");
    if command.is_empty() {
        return Err(Failure::bad_request("you must specify at least 1 command"));
    }
    let handler = handler.ok_or_else(|| Failure::plain(500, "the test has no handler for commands"))?;
    let streams = Streams::asked(&request.query);
    let (answer, upgrade) = switch(request)?;
    tokio::spawn(carry_out(upgrade, handler, ExecRequest { namespace, pod, container, command }, streams));
    Ok(answer)
}

/// Returns the container, if it accepts commands.
fn running_container(pod: &Value, asked: Option<&str>) -> Result<String, Failure> {
    let phase = at::text(pod, "/status/phase");
    if matches!(phase, "Succeeded" | "Failed") {
        let message = format!("cannot exec into a container in a completed pod; current phase is {phase}");
        return Err(Failure::bad_request(message));
    }
    let container = choose_container(pod, asked)?;
    // If a pod has no container statuses, its containers count as running.
    let status = container_status(pod, &container);
    if status.is_some_and(|status| status.pointer("/state/running").is_none() && status.get("state").is_some()) {
        return Err(Failure::plain(
            500,
            format!("unable to upgrade connection: container not found (\"{container}\")"),
        ));
    }
    Ok(container)
}

/// The streams that the client wants.
#[derive(Debug, Clone, Copy)]
struct Streams {
    stdout: bool,
    stderr: bool,
}

impl Streams {
    fn asked(query: &Query) -> Self {
        // A terminal has only one stream.
        Self { stdout: query.flag("stdout"), stderr: query.flag("stderr") && !query.flag("tty") }
    }
}

/// Returns the response that switches to WebSocket (RFC 6455, section 4.2), and the future
/// connection.
fn switch(mut request: Request) -> Result<(Answer, OnUpgrade), Failure> {
    let offered = request.header(header::SEC_WEBSOCKET_PROTOCOL).to_owned();
    let key = request.header(header::SEC_WEBSOCKET_KEY).to_owned();
    let is_websocket = request.header(header::UPGRADE).eq_ignore_ascii_case("websocket") && !key.is_empty();
    let Some(upgrade) = request.upgrade.take().filter(|_| is_websocket) else {
        return Err(Failure::bad_request("unable to upgrade: the request does not ask for a WebSocket"));
    };
    let spoken = PROTOCOLS.into_iter().find(|spoken| offered.split(',').any(|offer| offer.trim() == *spoken));
    let Some(spoken) = spoken else {
        return Err(Failure::plain(403, format!("unable to upgrade: none of the protocols is spoken: {offered:?}")));
    };
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| Failure::bad_request("unable to upgrade: the key cannot be answered"))?;
    let mut answer = answer::text(StatusCode::SWITCHING_PROTOCOLS.as_u16(), Bytes::new());
    let headers = answer.headers_mut();
    headers.clear();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(spoken));
    Ok((answer, upgrade))
}

async fn carry_out(upgrade: OnUpgrade, handler: ExecHandler, request: ExecRequest, streams: Streams) {
    let Ok(connection) = upgrade.await else {
        // The client disconnected before it got the response.
        return;
    };
    let command = request.command.join(" ");
    // Handlers may block: they read files and start processes.
    let reply = tokio::task::spawn_blocking(move || handler(request)).await;
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, None).await;
    // A client that disconnects already has what it wanted.
    drop(converse(&mut socket, reply.ok(), &command, streams).await);
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

async fn converse(socket: &mut Socket, reply: Option<ExecReply>, command: &str, streams: Streams) -> Result<(), Error> {
    // An empty message on each channel starts the session.
    for channel in [STDOUT, STDERR, STATUS] {
        socket.feed(message(channel, &[])).await?;
    }
    let Some(reply) = reply else {
        let status = Failure::plain(500, "the handler of the test panicked").body();
        return goodbye(socket, &status).await;
    };
    if streams.stderr {
        send(socket, STDERR, &reply.stderr).await?;
    }
    let cut = reply.cut_after.and_then(|cut| reply.stdout.get(..cut).or(Some(&reply.stdout)));
    if streams.stdout {
        send(socket, STDOUT, cut.unwrap_or(&reply.stdout)).await?;
    }
    if cut.is_some() {
        return Ok(break_off(socket).await?);
    }
    goodbye(socket, &status(reply.exit_code, command)).await
}

fn message(channel: u8, bytes: &[u8]) -> Message {
    Message::binary([&[channel], bytes].concat())
}

async fn send(socket: &mut Socket, channel: u8, bytes: &[u8]) -> Result<(), Error> {
    for chunk in bytes.chunks(CHUNK) {
        socket.feed(message(channel, chunk)).await?;
    }
    socket.flush().await
}

/// Returns the status of a command for the status channel.
fn status(exit_code: i32, command: &str) -> Value {
    if exit_code == 0 {
        return json!({"metadata": {}, "status": "Success"});
    }
    json!({
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: error executing command [{command}], exit code {exit_code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": exit_code.to_string()}]},
    })
}

async fn goodbye(socket: &mut Socket, status: &Value) -> Result<(), Error> {
    send(socket, STATUS, status.to_string().as_bytes()).await?;
    socket.close(None).await?;
    read_on(socket).await;
    Ok(())
}

/// Closes the connection without a status, after everything that was sent has arrived.
async fn break_off(socket: &mut Socket) -> io::Result<()> {
    socket.get_mut().shutdown().await?;
    read_on(socket).await;
    Ok(())
}

/// Reads until the client closes the connection. Closing one with unread input may discard data that
/// was sent.
async fn read_on(socket: &mut Socket) {
    let read_on = async { while socket.next().await.is_some_and(|message| message.is_ok()) {} };
    drop(timeout(GOODBYE, read_on).await);
}

//! The worker that a plugin's pod would run. Its identity and the aggregator's URL come from the
//! pod's environment.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use plumbline_core::ResultKey;
use plumbline_kubernetes::names;
use plumbline_phonehome::{
    Client, ClientConfig, Heartbeat, Hello, Outcome, Phase, RetryPolicy, Timestamp, Upload, client_config,
};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Result;

/// The worker of a pod, of Plumbline or Sonobuoy: both have the same variables.
pub(crate) struct PodWorker {
    pub(crate) config: ClientConfig,
    pub(crate) key: ResultKey,
}

impl PodWorker {
    /// Reads the environment of `pod` on `node`, as a kubelet sets it. `secret` is the Secret that
    /// [`secret_of`] returns.
    pub(crate) fn of_pod(pod: &Value, node: &str, secret: &Value) -> Result<Self> {
        let get = |name: &str| value(variable(pod, name)?, node, secret);
        let config = ClientConfig {
            aggregator_url: get("AGGREGATOR_URL")?,
            ca_cert: get("CA_CERT")?,
            client_cert: get("CLIENT_CERT")?,
            client_key: get("CLIENT_KEY")?,
        };
        let key = ResultKey::new(get("RESULT_TYPE")?.parse()?, get("NODE_NAME")?.parse()?);
        Ok(Self { config, key })
    }
}

/// What a worker sends before its result.
pub(crate) fn greetings() -> (Hello, Heartbeat) {
    let now = Timestamp::now();
    let hello = Hello { version: "simulation".into(), pid: Some(1), started: now, results_dir: "/tmp/results".into() };
    (hello, Heartbeat { phase: Phase::Uploading, since: now })
}

/// Sends a result, of which there must be none yet.
pub(crate) async fn deliver(client: &Client, key: &ResultKey, upload: &Upload) -> Result<()> {
    match client.put_result(key, upload, &RetryPolicy::default()).await? {
        Outcome::Stored => Ok(()),
        Outcome::AlreadyReceived | Outcome::OtherReceived => {
            Err(format!("the aggregator had a result or an error of {key} already").into())
        }
    }
}

/// Returns the name of the Secret with the worker's certificate.
pub(crate) fn secret_of(pod: &Value) -> Result<&str> {
    let name = variable(pod, "CLIENT_KEY")?.pointer("/valueFrom/secretKeyRef/name").and_then(Value::as_str);
    name.ok_or_else(|| "the worker's certificate is in no Secret".into())
}

fn variable<'a>(pod: &'a Value, name: &str) -> Result<&'a Value> {
    ["/spec/containers", "/spec/initContainers"]
        .iter()
        .filter_map(|containers| pod.pointer(containers)?.as_array())
        .flatten()
        .find(|container| is(container, names::WORKER_CONTAINER))
        .and_then(|container| container.get("env")?.as_array()?.iter().find(|variable| is(variable, name)))
        .ok_or_else(|| format!("the pod has no worker with a variable `{name}`").into())
}

fn value(variable: &Value, node: &str, secret: &Value) -> Result<String> {
    if let Some(value) = variable.get("value").and_then(Value::as_str) {
        return Ok(value.to_owned());
    }
    let text = |path: &str| variable.pointer(path).and_then(Value::as_str).unwrap_or_default();
    if text("/valueFrom/fieldRef/fieldPath") == "spec.nodeName" {
        return Ok(node.to_owned());
    }
    let key = text("/valueFrom/secretKeyRef/key");
    let encoded = secret.get("data").and_then(|data| data.get(key)).cloned().unwrap_or_default();
    let ByteString(bytes) = serde_json::from_value(encoded)?;
    Ok(String::from_utf8(bytes)?)
}

fn is(object: &Value, name: &str) -> bool {
    object.get("name").and_then(Value::as_str) == Some(name)
}

/// Number of bytes that are sent ten times a second.
const PIECE: usize = 1_000;

/// Sends a result of `pieces` kilobytes at 10 kB/s, like a worker on a slow network.
///
/// # Errors
/// The connection breaks, or the aggregator does not accept the result.
pub async fn crawl(config: Arc<ClientConfig>, key: ResultKey, pieces: usize) -> Result<()> {
    let tls = client_config(&config.ca_cert, &config.client_cert, &config.client_key)?;
    let address = config.aggregator_url.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host).to_owned();
    let stream = TcpStream::connect(&address).await?;
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(ServerName::try_from(host)?, stream).await?;
    let head = format!(
        "PUT /api/v1/results/by-node/{}/{} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        key.node,
        key.plugin,
        PIECE * pieces
    );
    stream.write_all(head.as_bytes()).await?;
    let piece = [0; PIECE];
    for _ in 0..pieces {
        stream.write_all(&piece).await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await?;
    match answer.ends_with(b"200") {
        true => Ok(()),
        false => Err(format!("the slow client was answered {}", String::from_utf8_lossy(&answer)).into()),
    }
}

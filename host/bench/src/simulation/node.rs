//! A pod on its node: scheduled, started, and its worker's talk with the aggregator.

use std::io::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use plumbline_apidouble::ApiDouble;
use plumbline_core::ResultKey;
use plumbline_kubernetes::names;
use plumbline_phonehome::{
    Answer, CONTENT_TYPE_ARCHIVE, Client, ClientConfig, ClientError, Heartbeat, Hello, Outcome, Phase, RetryPolicy,
    Source, Timestamp, Upload,
};
use serde_json::Value;

use super::objects;
use crate::Result;

/// How often a sign of life is sent, and the pause after the first that was not heard: half a minute in all.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// What each worker sends: one small file, packed as a worker packs a directory.
static RESULT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(packed().unwrap_or_default()));

fn packed() -> std::io::Result<Vec<u8>> {
    let text = b"{\"Action\": \"pass\", \"Package\": \"node\", \"Test\": \"is well\"}\n";
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "result.json", text.as_slice())?;
    let mut gzip = tar.into_inner()?;
    gzip.flush()?;
    gzip.finish()
}

/// From its assignment until the result is home. The pod goes on after that, as those of DaemonSets do: their worker stays.
///
/// `repeated` counts the signs of life that had to be sent again.
pub(super) async fn live(double: &ApiDouble, pod: &Value, node: &str, repeated: &AtomicU64) -> Result<()> {
    let at = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (at("/metadata/namespace"), at("/metadata/name"));
    double.update("pods", namespace, name, |pod| objects::assign(pod, node));
    tokio::task::yield_now().await;
    double.update("pods", namespace, name, objects::create_containers);
    tokio::task::yield_now().await;
    double.update("pods", namespace, name, objects::run_containers);
    let done = work(&Environment { double, pod, node }, repeated).await;
    done.map_err(|error| format!("the worker of pod `{name}`: {}", chain(&*error)).into())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(&format!(": {error}"));
        cause = error.source();
    }
    told
}

async fn work(environment: &Environment<'_>, repeated: &AtomicU64) -> Result<()> {
    let config = ClientConfig {
        aggregator_url: environment.get("AGGREGATOR_URL")?,
        ca_cert: environment.get("CA_CERT")?,
        client_cert: environment.get("CLIENT_CERT")?,
        client_key: environment.get("CLIENT_KEY")?,
    };
    let key = ResultKey::new(environment.get("RESULT_TYPE")?.parse()?, environment.get("NODE_NAME")?.parse()?);
    let client = Client::new(&config)?;
    let now = Timestamp::now();
    let hello = Hello { version: "simulation".into(), pid: Some(1), started: now, results_dir: "/tmp/results".into() };
    let heartbeat = Heartbeat { phase: Phase::Uploading, since: now };
    heard(repeated, || client.hello(&key, &hello)).await?;
    heard(repeated, || client.heartbeat(&key, &heartbeat)).await?;
    let upload = Upload::result(Source::Bytes(RESULT.clone()), CONTENT_TYPE_ARCHIVE, Some("results.tar.gz".into()));
    match client.put_result(&key, &upload, &RetryPolicy::default()).await? {
        Outcome::Stored => Ok(()),
        Outcome::AlreadyReceived => Err("the aggregator had a result or an error already".into()),
    }
}

/// Sends a sign of life until it is heard, with growing pauses, as a worker does.
async fn heard<F>(repeated: &AtomicU64, mut send: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = std::result::Result<Answer, ClientError>>,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        match send().await {
            Ok(answer) if answer.status.is_success() => return Ok(()),
            Ok(answer) => return Err(format!("a sign of life was answered {}", answer.status).into()),
            Err(_) => repeated.fetch_add(1, Ordering::Relaxed),
        };
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    send().await?;
    Ok(())
}

/// The environment of the worker's container, as a kubelet makes it.
struct Environment<'a> {
    double: &'a ApiDouble,
    pod: &'a Value,
    node: &'a str,
}

impl Environment<'_> {
    fn get(&self, name: &str) -> Result<String> {
        let found = ["/spec/containers", "/spec/initContainers"]
            .iter()
            .filter_map(|containers| self.pod.pointer(containers)?.as_array())
            .flatten()
            .find(|container| is(container, names::WORKER_CONTAINER))
            .and_then(|container| container.get("env")?.as_array()?.iter().find(|variable| is(variable, name)))
            .ok_or_else(|| format!("the pod has no worker with a variable `{name}`"))?;
        if let Some(value) = found.get("value").and_then(Value::as_str) {
            return Ok(value.to_owned());
        }
        let text = |path: &str| found.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if text("/valueFrom/fieldRef/fieldPath") == "spec.nodeName" {
            return Ok(self.node.to_owned());
        }
        let namespace = self.pod.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let (secret, key) = (text("/valueFrom/secretKeyRef/name"), text("/valueFrom/secretKeyRef/key"));
        let secret = self.double.get("secrets", namespace, secret).ok_or_else(|| format!("no secret `{secret}`"))?;
        let encoded = secret.get("data").and_then(|data| data.get(key)).cloned().unwrap_or_default();
        let ByteString(bytes) = serde_json::from_value(encoded)?;
        Ok(String::from_utf8(bytes)?)
    }
}

fn is(object: &Value, name: &str) -> bool {
    object.get("name").and_then(Value::as_str) == Some(name)
}

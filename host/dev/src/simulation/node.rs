//! A pod on its node: it is scheduled and started, and its worker talks to the aggregator.

use std::io::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_phonehome::{Answer, CONTENT_TYPE_ARCHIVE, Client, ClientError, Source, Upload};
use serde_json::Value;

use super::objects;
use crate::pod_worker::{PodWorker, deliver, greetings, secret_of};
use crate::{ApiDouble, Result};

/// Number of attempts for a heartbeat, and the pause after the first failure: half a minute in
/// total.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The result of each worker: one small file, packed as a worker packs a directory.
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

/// Simulates a pod from its assignment until the result is delivered. The pod then continues to
/// run, like that of a real DaemonSet, because its worker stays.
///
/// `repeated` counts the heartbeats that had to be sent again.
pub(super) async fn live(double: &ApiDouble, pod: &Value, node: &str, repeated: &AtomicU64) -> Result<()> {
    let at = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (at("/metadata/namespace"), at("/metadata/name"));
    double.update("pods", namespace, name, |pod| objects::assign(pod, node));
    tokio::task::yield_now().await;
    double.update("pods", namespace, name, objects::create_containers);
    tokio::task::yield_now().await;
    double.update("pods", namespace, name, objects::run_containers);
    let secret = secret_of(pod)
        .and_then(|name| double.get("secrets", namespace, name).ok_or_else(|| format!("no secret `{name}`").into()));
    let done = match secret.and_then(|secret| PodWorker::of_pod(pod, node, &secret)) {
        Ok(worker) => work(worker, repeated).await,
        Err(error) => Err(error),
    };
    done.map_err(|error| format!("the worker of pod `{name}`: {}", plumbline_core::chain(&*error)).into())
}

async fn work(worker: PodWorker, repeated: &AtomicU64) -> Result<()> {
    let PodWorker { config, key } = worker;
    let client = Client::new(&config)?;
    let (hello, heartbeat) = greetings();
    heard(repeated, || client.hello(&key, &hello)).await?;
    heard(repeated, || client.heartbeat(&key, &heartbeat)).await?;
    let upload = Upload::result(Source::Bytes(RESULT.clone()), CONTENT_TYPE_ARCHIVE, Some("results.tar.gz".into()));
    deliver(&client, &key, &upload).await
}

/// Sends a heartbeat until it succeeds, with increasing pauses, as a worker does.
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

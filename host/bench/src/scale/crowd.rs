//! The workers of all pods that kwok runs.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::runtime::{WatchStreamExt as _, watcher};
use plumbline_kubernetes::names;
use plumbline_phonehome::{
    Client, Heartbeat, Hello, Outcome, Phase, RetryPolicy, Source, Timestamp, Upload, client_config,
};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::{ApiServer, Scale};
use crate::Result;
use crate::pod_worker::{PodWorker, secret_of};
use crate::process::Kind;

/// How long the slow client sends before the others start.
const AHEAD: Duration = Duration::from_secs(1);
/// A result with one test.
const PASSED: &str = "{\"Action\": \"pass\", \"Package\": \"node\", \"Test\": \"is well\"}\n";
/// Number of bytes that a slow client sends ten times a second: 10 kB/s.
const SLOW_PIECE: usize = 1_000;
/// Number of pieces of its result, which take 20 s. Sonobuoy accepts nothing else meanwhile. After
/// a minute, workers would give up an upload and retry, and Sonobuoy rejects the second attempt.
const SLOW_PIECES: usize = 200;

pub(super) struct Crowd {
    /// Times of the uploads in seconds.
    pub(super) uploads: Vec<f64>,
    /// Time from the first to the last upload in seconds.
    pub(super) seconds: f64,
}

/// Simulates the worker of each running pod, until all results are delivered.
pub(super) async fn play(scale: &Scale, server: &ApiServer) -> Result<Crowd> {
    let expected = scale.plugins * scale.nodes;
    let body = match scale.bytes {
        Some(bytes) => Bytes::from((0..bytes).map(|_| fastrand::u8(..)).collect::<Vec<_>>()),
        None => Bytes::from_static(PASSED.as_bytes()),
    };
    let slots = Arc::new(Semaphore::new(scale.at_once.max(1)));
    let (mut seen, mut secrets) = (BTreeSet::new(), HashMap::<String, Value>::new());
    let mut workers = JoinSet::new();
    let mut waiting = Vec::new();
    let mut slow = None;
    let mut first = None;
    let mut pods = pin!(running(server));
    let mut uploads = Vec::with_capacity(expected);
    while uploads.len() + usize::from(slow.is_some()) < expected {
        tokio::select! {
            pod = pods.try_next() => {
                let pod = pod?.ok_or("the watch of pods has ended")?;
                let name = pod.metadata.name.clone().unwrap_or_default();
                if !seen.insert(name) {
                    continue;
                }
                let pod = serde_json::to_value(pod)?;
                // Plugins may share a Secret, which gets larger with each of them.
                let owner = pod.pointer("/metadata/ownerReferences/0/name").and_then(Value::as_str).unwrap_or_default();
                let secret = match secrets.entry(owner.to_owned()) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(unknown) => {
                        let found = server.api::<Secret>().get(secret_of(&pod)?).await?;
                        unknown.insert(serde_json::to_value(found)?)
                    }
                };
                let node = pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
                let worker = PodWorker::of_pod(&pod, node, secret)?;
                waiting.push(worker);
                if scale.together && waiting.len() < expected {
                    continue;
                }
                for worker in waiting.drain(..) {
                    if scale.slow && slow.is_none() {
                        slow = Some(tokio::spawn(crawl(worker)));
                        // Let its upload start before the others.
                        tokio::time::sleep(AHEAD).await;
                        continue;
                    }
                    first.get_or_insert_with(Instant::now);
                    workers.spawn(work(worker, scale.kind, body.clone(), Arc::clone(&slots)));
                }
            }
            Some(done) = workers.join_next() => uploads.push(done??),
        }
    }
    let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
    if let Some(slow) = slow {
        slow.await??;
    }
    Ok(Crowd { uploads, seconds })
}

/// Waits until this many pods run.
pub(super) async fn all_run(server: &ApiServer, expected: usize) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut pods = pin!(running(server));
    while seen.len() < expected {
        let pod = pods.try_next().await?.ok_or("the watch of pods has ended")?;
        seen.insert(pod.metadata.name);
    }
    Ok(())
}

/// Returns the pods of plugins, as soon as they run and again at each change.
fn running(server: &ApiServer) -> impl futures_util::Stream<Item = std::result::Result<Pod, watcher::Error>> {
    watcher(server.api::<Pod>(), watcher::Config::default()).applied_objects().try_filter(|pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let runs = phase == Some("Running") && pod.metadata.name.as_deref() != Some(names::AGGREGATOR_POD);
        std::future::ready(runs)
    })
}

/// Simulates one worker, and returns the time of its upload in seconds.
async fn work(worker: PodWorker, kind: Kind, body: Bytes, slots: Arc<Semaphore>) -> Result<f64> {
    let _slot = slots.acquire_owned().await?;
    let start = Instant::now();
    let PodWorker { config, key } = worker;
    let client = Client::new(&config)?;
    if kind == Kind::Plumbline {
        let now = Timestamp::now();
        let hello = Hello { version: "bench".into(), pid: Some(1), started: now, results_dir: "/tmp/results".into() };
        client.hello(&key, &hello).await?;
        client.heartbeat(&key, &Heartbeat { phase: Phase::Uploading, since: now }).await?;
    }
    let upload = Upload::result(Source::Bytes(body), "application/octet-stream", Some("result.json".into()));
    match client.put_result(&key, &upload, &RetryPolicy::default()).await? {
        Outcome::Stored => Ok(start.elapsed().as_secs_f64()),
        Outcome::AlreadyReceived => Err(format!("the aggregator had a result or an error of {key} already").into()),
    }
}

/// Sends a result at 10 kB/s.
async fn crawl(worker: PodWorker) -> Result<()> {
    let PodWorker { config, key } = worker;
    let tls = client_config(&config.ca_cert, &config.client_cert, &config.client_key)?;
    let address = config.aggregator_url.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host).to_owned();
    let stream = TcpStream::connect(&address).await?;
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(ServerName::try_from(host)?, stream).await?;
    let head = format!(
        "PUT /api/v1/results/by-node/{}/{} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        key.node,
        key.plugin,
        SLOW_PIECE * SLOW_PIECES
    );
    stream.write_all(head.as_bytes()).await?;
    let piece = [0; SLOW_PIECE];
    for _ in 0..SLOW_PIECES {
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

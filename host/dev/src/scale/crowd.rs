//! The workers of all pods that kwok runs.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use plumbline_phonehome::{Client, Source, Upload};
use plumbline_sandbox::ITEMS_FILE;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Scale;
use super::check::{self, CheckReads};
use super::server::ApiServer;
use crate::pod_worker::{PodWorker, deliver, greetings, secret_of};
use crate::process::Kind;
use crate::{Result, crawl};

/// How long the slow client sends before the others start.
const AHEAD: Duration = Duration::from_secs(1);
/// The file of a result.
const FILE: &str = "result.json";
const PASSED: &str = "{\"Action\": \"pass\", \"Package\": \"node\", \"Test\": \"is well\"}\n";
/// Size of the slow client's result in kilobytes, which take 20 s. Sonobuoy accepts nothing else
/// meanwhile. After a minute, workers would give up an upload and retry, and Sonobuoy rejects the
/// second attempt.
const SLOW_PIECES: usize = 200;

pub(super) struct Crowd {
    /// Times of the uploads in seconds.
    pub(super) uploads: Vec<f64>,
    /// Time from the first to the last upload in seconds.
    pub(super) seconds: f64,
    /// What the kubelets of all nodes read for the check.
    pub(super) check: CheckReads,
}

/// Simulates the worker of each running pod, until all results are delivered.
pub(super) async fn play(scale: &Scale, server: &ApiServer) -> Result<Crowd> {
    let expected = scale.plugins * scale.nodes;
    let shared = Shared::of(scale, server);
    let (mut seen, mut secrets) = (BTreeSet::new(), HashMap::<String, Value>::new());
    let mut workers = JoinSet::new();
    let mut waiting = Vec::new();
    let mut slow = None;
    let mut first = None;
    let mut pods = pin!(server.running());
    let mut uploads = Vec::with_capacity(expected);
    let mut read = CheckReads::default();
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
                waiting.push((worker, check::config_maps(&pod)));
                if scale.together && waiting.len() < expected {
                    continue;
                }
                for (worker, maps) in waiting.drain(..) {
                    if scale.slow && slow.is_none() {
                        slow = Some(tokio::spawn(crawl(Arc::new(worker.config), worker.key, SLOW_PIECES)));
                        // Let its upload start before the others.
                        tokio::time::sleep(AHEAD).await;
                        continue;
                    }
                    first.get_or_insert_with(Instant::now);
                    workers.spawn(work(worker, maps, shared.clone()));
                }
            }
            Some(done) = workers.join_next() => {
                let (seconds, of_pod) = done??;
                uploads.push(seconds);
                read.add(of_pod);
            }
        }
    }
    let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
    if let Some(slow) = slow {
        slow.await??;
    }
    Ok(Crowd { uploads, seconds, check: read })
}

/// What all workers have in common.
#[derive(Clone)]
struct Shared {
    /// The client of the kubelets.
    kubelet: kube::Client,
    kind: Kind,
    /// The name of each result, and its content.
    result: (&'static str, Bytes),
    slots: Arc<Semaphore>,
}

impl Shared {
    fn of(scale: &Scale, server: &ApiServer) -> Self {
        let result = match (&scale.check, scale.bytes) {
            (Some(_), _) => (ITEMS_FILE, check::items()),
            (None, Some(bytes)) => (FILE, Bytes::from((0..bytes).map(|_| fastrand::u8(..)).collect::<Vec<_>>())),
            (None, None) => (FILE, Bytes::from_static(PASSED.as_bytes())),
        };
        let slots = Arc::new(Semaphore::new(scale.at_once.max(1)));
        Self { kubelet: server.client(), kind: scale.kind, result, slots }
    }
}

/// Simulates one worker, after the kubelet has read the ConfigMaps `maps` of its check. Returns the
/// time of the upload in seconds, and what the kubelet read.
async fn work(worker: PodWorker, maps: Vec<String>, shared: Shared) -> Result<(f64, CheckReads)> {
    let Shared { kubelet, kind, result: (file, body), slots } = shared;
    let _slot = slots.acquire_owned().await?;
    let read = check::read(&kubelet, &maps).await?;
    let start = Instant::now();
    let PodWorker { config, key } = worker;
    let client = Client::new(&config)?;
    if kind == Kind::Plumbline {
        let (hello, heartbeat) = greetings();
        client.hello(&key, &hello).await?;
        client.heartbeat(&key, &heartbeat).await?;
    }
    let upload = Upload::result(Source::Bytes(body), "application/octet-stream", Some(file.into()));
    deliver(&client, &key, &upload).await?;
    Ok((start.elapsed().as_secs_f64(), read))
}

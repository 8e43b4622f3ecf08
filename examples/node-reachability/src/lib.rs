//! A check of a node: whether it reaches the pods and kubelets of all other nodes, and DNS.
//!
//! The definition lets the pod of each node listen on a port. Each check connects to the pods of the
//! others, and waits for those that have not started.
#![forbid(unsafe_code)]

mod cluster;

use std::time::Duration;

use plumbline_sdk::network::{Attempts, Connection, NetworkError, Target};
use plumbline_sdk::{Checker, Context, Item, Output, PluginInfo, Status};
use serde::Deserialize;

use crate::cluster::{Peer, State, peers};

/// The port of kubelets, and the one that the definition opens in each pod.
const KUBELET: u16 = 10250;
const POD: u16 = 18099;

/// The time of one attempt.
const ATTEMPT: Duration = Duration::from_secs(5);

/// The pause before the pods are listed again.
const PAUSE: Duration = Duration::from_secs(2);

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct NodeReachability;

/// The options of the definition.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Options {
    /// The names to resolve.
    names: Vec<String>,
    /// How long the check waits for pods and connections, in seconds.
    wait_seconds: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { names: vec!["kubernetes.default.svc".to_owned()], wait_seconds: 60 }
    }
}

impl Checker for NodeReachability {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let Options { names, wait_seconds } = plugin.options()?;
        let own = context.env("NODE_NAME").ok_or("the variable NODE_NAME is not set: grant it under `env`")?;
        resolve(context, &names, out);
        let (peers, wait) = started_peers(plugin, context, &own, Duration::from_secs(wait_seconds.into()))?;
        if peers.is_empty() {
            out.emit(Item::new(0, "nodes").status(Status::Skipped).text("reason", "the cluster has no other node"));
        }
        let attempts = Attempts { timeout: ATTEMPT, wait };
        connect(context, out, "pods", &peers, attempts, |peer| Some((peer.pod.as_deref()?, POD)));
        connect(context, out, "kubelets", &peers, attempts, |peer| Some((peer.address.as_deref()?, KUBELET)));
        context.progress(2, 2, "done");
        Ok(())
    }
}

/// Emits an item for each name that should have an address.
fn resolve(context: &mut Context, names: &[String], out: &mut Output) {
    if !names.is_empty() {
        out.emit(Item::new(0, "names"));
    }
    for name in names {
        let item = Item::new(1, name.as_str());
        out.emit(match context.resolve(name) {
            Ok(found) => item.status(Status::Passed).meta("addresses", found.join(" ")),
            Err(error) => failed(item, &error),
        });
    }
}

/// Returns the other nodes, as soon as each ready one has a pod with an address, or when the time is
/// over. Also returns the rest of the time.
fn started_peers(
    plugin: &PluginInfo,
    context: &mut Context,
    own: &str,
    wait: Duration,
) -> Result<(Vec<Peer>, Duration), String> {
    let mut left = wait;
    loop {
        let found = peers(context, &plugin.name, own)?;
        let started = found.iter().filter(|peer| peer.pod.is_some() || peer.state != State::Ready).count();
        context.progress(0, 2, format!("{started} of {} nodes have a pod", found.len()));
        if started == found.len() || left.is_zero() {
            return Ok((found, left));
        }
        let pause = PAUSE.min(left);
        context.sleep(pause);
        left -= pause;
    }
}

/// Emits an item for each peer under `group`. `target` returns where to connect.
fn connect(
    context: &mut Context,
    out: &mut Output,
    group: &str,
    peers: &[Peer],
    attempts: Attempts,
    target: impl Fn(&Peer) -> Option<(&str, u16)>,
) {
    if peers.is_empty() {
        return;
    }
    out.emit(Item::new(0, group));
    let targets: Vec<Target> = peers.iter().filter_map(&target).map(|(host, port)| Target::new(host, port)).collect();
    let mut results = context.connect(&targets, attempts).into_iter();
    for peer in peers {
        let item = Item::new(1, peer.node.as_str());
        // A peer without a target has no result.
        let result = target(peer).map(|_| results.next());
        out.emit(match (result.flatten(), peer.state) {
            (Some(Ok(Connection { address, took })), _) => {
                let milliseconds = format!("{:.1}", took.as_secs_f64() * 1000.0);
                item.status(Status::Passed).meta("address", address).meta("milliseconds", milliseconds)
            }
            (Some(Err(error)), State::Ready) => failed(item, &error),
            (_, State::NotReady) => item.status(Status::Skipped).text("reason", "the node is not ready"),
            (None, State::Ready) => item
                .status(Status::Failed)
                .text("failure", "the node has no address to connect to, or no pod of this check"),
        });
    }
}

/// Only a failure of the target is `failed`.
fn failed(item: Item, error: &NetworkError) -> Item {
    match error.is_of_the_target() {
        true => item.status(Status::Failed).text("failure", error.to_string()),
        false => item.status(Status::Unknown).meta("error", error.to_string()),
    }
}

plumbline_sdk::module! {
    name: "node-reachability",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "names": {
                "type": "array",
                "description": "The names to resolve. The definition grants each of them under dns.",
                "items": { "type": "string" }
            },
            "wait-seconds": {
                "type": "integer",
                "minimum": 0,
                "maximum": 3600,
                "description": "How long the check waits for pods and connections."
            }
        },
        "additionalProperties": false
    },
    rights: {
        "kubernetes": [{ "api-version": "v1", "resources": ["nodes", "pods"] }],
        "listen": [18099],
        "env": ["NODE_NAME"]
    },
    check: NodeReachability,
}

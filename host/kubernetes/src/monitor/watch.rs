//! What is seen: the watches of pods and nodes. They recover by themselves from whatever ends them, with growing pauses.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, future};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::Value;

use super::facts::{NodeFacts, PodFacts};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::nodes::NODES_PAGE;

/// Pods per page of a list: the size that the project's own clients use.
const PAGE: u32 = 500;

/// Seconds after which a watch is begun anew. A connection that broke without a word is noticed after this time, which is why it is less
/// than the five minutes that are usual.
const WATCH_SECONDS: u32 = 120;

/// The code of a watch whose place in history is forgotten: nothing is wrong, a list follows.
const GONE: u16 = 410;

/// Something that a watch tells.
#[derive(Debug)]
pub(super) enum Sight {
    PodsBegin,
    Pod(PodFacts),
    /// A pod that is gone, and the object as JSON.
    PodGone(PodFacts, Box<str>),
    PodsListed,
    NodesBegin,
    Node(NodeFacts),
    NodeGone(String),
    NodesListed,
}

/// The pods of all plugins in a namespace.
pub(super) fn pods(cluster: &Cluster, namespace: &str) -> BoxStream<'static, Sight> {
    let resource = ApiResource::erase::<Pod>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), namespace, &resource);
    let labels =
        format!("{}={},{}={}", names::COMPONENT_LABEL, names::COMPONENT_VALUE, names::ROLE_LABEL, names::PLUGIN);
    let outage = Outage::new(
        format!("watch the pods of plugins in namespace `{namespace}`"),
        "until then nothing is known of them",
    );
    events(api, config(PAGE).labels(&labels), outage, |event| match event {
        Event::Init => Some(Sight::PodsBegin),
        Event::InitDone => Some(Sight::PodsListed),
        Event::InitApply(pod) | Event::Apply(pod) => PodFacts::read(&json(&pod)).map(Sight::Pod),
        Event::Delete(pod) => {
            let object = json(&pod);
            let facts = PodFacts::read(&object)?;
            Some(Sight::PodGone(facts, object.to_string().into_boxed_str()))
        }
    })
}

/// The nodes. If the account may not list them there are no events, which is told once.
pub(super) fn nodes(cluster: &Cluster) -> BoxStream<'static, Sight> {
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), &ApiResource::erase::<Node>(&()));
    let outage =
        Outage::new("watch the nodes".to_owned(), "until then nodes that disappear or are not ready are not noticed");
    events(api, config(NODES_PAGE), outage, |event| match event {
        Event::Init => Some(Sight::NodesBegin),
        Event::InitDone => Some(Sight::NodesListed),
        Event::InitApply(node) | Event::Apply(node) => NodeFacts::read(&json(&node)).map(Sight::Node),
        Event::Delete(node) => node.metadata.name.map(Sight::NodeGone),
    })
}

fn config(page: u32) -> watcher::Config {
    // Lists are read from the storage, not from a cache: a pod that a stale list does not tell yet would look deleted.
    watcher::Config::default().page_size(page).timeout(WATCH_SECONDS)
}

fn events(
    api: Api<DynamicObject>,
    config: watcher::Config,
    mut outage: Outage,
    read: impl Fn(Event<DynamicObject>) -> Option<Sight> + Send + 'static,
) -> BoxStream<'static, Sight> {
    let events = watcher(api, config).default_backoff();
    let sights = events.filter_map(move |event| {
        future::ready(match event {
            Ok(event) => {
                // `Init` is said before the server was asked.
                if !matches!(event, Event::Init) {
                    outage.over();
                }
                read(event)
            }
            Err(error) => {
                outage.tell(&error);
                None
            }
        })
    });
    sights.boxed()
}

/// The object without what nobody reads and half of it may be.
fn json(object: &DynamicObject) -> Value {
    // Cannot fail: it was read from JSON.
    let mut value = serde_json::to_value(object).unwrap_or_default();
    slim(&mut value);
    value
}

/// Removes the record of who wrote which field.
pub(super) fn slim(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// Says that a watch is interrupted, once for each interruption.
struct Outage {
    what: String,
    until_then: &'static str,
    told: bool,
}

impl Outage {
    fn new(what: String, until_then: &'static str) -> Self {
        Self { what, until_then, told: false }
    }

    fn tell(&mut self, error: &watcher::Error) {
        let error = match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => ClusterError::api(&self.what, error),
            watcher::Error::WatchError(status) => ClusterError::api(&self.what, &kube::Error::Api(status.clone())),
            watcher::Error::NoResourceVersion => {
                ClusterError::new(&self.what, "the API server's answer has no `resourceVersion`")
            }
        };
        if self.told || error.code == Some(GONE) {
            tracing::debug!("{error}; trying again");
            return;
        }
        self.told = true;
        let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        tracing::warn!("{error}; trying again: {}{hint}", self.until_then);
    }

    fn over(&mut self) {
        if std::mem::take(&mut self.told) {
            tracing::info!("no longer failing to {}", self.what);
        }
    }
}

//! The watches of pods and nodes.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, future};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::ObjectMeta;
use kube::runtime::watcher::{Config, Event};
use kube::{Api, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::names;
use crate::node_view::NodeView;
use crate::nodes::NODES_PAGE;
use crate::pod_view::PodView;
use crate::watch::watch;

/// Pods per page of a list: the size that Kubernetes clients use.
const PAGE: u32 = 500;

/// Seconds after which a watch is restarted. A connection that broke silently is noticed after this
/// time, so it is less than the usual five minutes.
const WATCH_SECONDS: u32 = 120;

/// An observation of a watch.
#[derive(Debug)]
pub(super) enum Observation {
    PodsBegin,
    Pod(PodView),
    /// A deleted pod, with the object as JSON.
    PodGone(PodView, Box<str>),
    PodsListed,
    NodesBegin,
    Node(NodeView),
    NodeGone(String),
    NodesListed,
}

/// Watches the pods of all plugins in a namespace.
pub(super) fn pods(cluster: &Cluster, namespace: &str) -> BoxStream<'static, Observation> {
    let api: Api<Whole<Pod>> = Api::namespaced(cluster.client(), namespace);
    let labels =
        format!("{}={},{}={}", names::COMPONENT_LABEL, names::COMPONENT_VALUE, names::ROLE_LABEL, names::PLUGIN);
    let what = format!("watch the pods of plugins in namespace `{namespace}`");
    sights(api, config(PAGE).labels(&labels), what, "until then nothing is known of them", |event| match event {
        Event::Init => Some(Observation::PodsBegin),
        Event::InitDone => Some(Observation::PodsListed),
        Event::InitApply(pod) | Event::Apply(pod) => PodView::read(&pod.object).map(Observation::Pod),
        Event::Delete(pod) => {
            Some(Observation::PodGone(PodView::read(&pod.object)?, pod.object.to_string().into_boxed_str()))
        }
    })
}

/// Watches the nodes. If the account may not list them, the stream is silent, and one warning is
/// logged.
pub(super) fn nodes(cluster: &Cluster) -> BoxStream<'static, Observation> {
    let until_then = "until then nodes that disappear or are not ready are not noticed";
    let api: Api<Whole<Node>> = Api::all(cluster.client());
    sights(api, config(NODES_PAGE), "watch the nodes".to_owned(), until_then, |event| match event {
        Event::Init => Some(Observation::NodesBegin),
        Event::InitDone => Some(Observation::NodesListed),
        Event::InitApply(node) | Event::Apply(node) => NodeView::read(&node.object).map(Observation::Node),
        Event::Delete(node) => node.metadata.name.map(Observation::NodeGone),
    })
}

fn config(page: u32) -> Config {
    // Lists come from the storage and not from a cache. A pod that a stale list lacks would look
    // deleted.
    Config::default().page_size(page).timeout(WATCH_SECONDS)
}

fn sights<K>(
    api: Api<Whole<K>>,
    config: Config,
    what: String,
    until_then: &'static str,
    read: impl Fn(Event<Whole<K>>) -> Option<Observation> + Send + 'static,
) -> BoxStream<'static, Observation>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + 'static,
{
    let sights = watch(api, config, what).filter_map(move |event| {
        future::ready(match event {
            Ok(event) => read(event),
            Err(error) => {
                let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
                tracing::warn!("{error}; trying again: {until_then}{hint}");
                None
            }
        })
    });
    sights.boxed()
}

/// A whole object of kind `K`, because a pod is evidence once it is gone.
///
/// It is parsed after the watch, so that one malformed object does not end the watch of all others.
#[derive(Debug, Clone)]
struct Whole<K> {
    metadata: ObjectMeta,
    object: Value,
    kind: PhantomData<K>,
}

impl<'de, K> Deserialize<'de> for Whole<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        slim(&mut object);
        let text = |key: &str| object.get("metadata")?.get(key)?.as_str().map(str::to_owned);
        let metadata =
            ObjectMeta { name: text("name"), resource_version: text("resourceVersion"), ..ObjectMeta::default() };
        Ok(Self { metadata, object, kind: PhantomData })
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Whole<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group(_: &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version(_: &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural(_: &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Removes the managed fields, which nobody reads and which may be half of an object.
pub(super) fn slim(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

//! What the monitor sees: the watches of pods and nodes.

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

/// Pods per page of a list: the size that the project's own clients use.
const PAGE: u32 = 500;

/// Seconds after which a watch is begun anew. A connection that broke without a word is noticed after this time, which is why it is less
/// than the five minutes that are usual.
const WATCH_SECONDS: u32 = 120;

/// Something that a watch shows.
#[derive(Debug)]
pub(super) enum Sight {
    PodsBegin,
    Pod(PodView),
    /// A pod that is gone, and the object as JSON.
    PodGone(PodView, Box<str>),
    PodsListed,
    NodesBegin,
    Node(NodeView),
    NodeGone(String),
    NodesListed,
}

/// The pods of all plugins in a namespace.
pub(super) fn pods(cluster: &Cluster, namespace: &str) -> BoxStream<'static, Sight> {
    let api: Api<Whole<Pod>> = Api::namespaced(cluster.client(), namespace);
    let labels =
        format!("{}={},{}={}", names::COMPONENT_LABEL, names::COMPONENT_VALUE, names::ROLE_LABEL, names::PLUGIN);
    let what = format!("watch the pods of plugins in namespace `{namespace}`");
    sights(api, config(PAGE).labels(&labels), what, "until then nothing is known of them", |event| match event {
        Event::Init => Some(Sight::PodsBegin),
        Event::InitDone => Some(Sight::PodsListed),
        Event::InitApply(pod) | Event::Apply(pod) => PodView::read(&pod.object).map(Sight::Pod),
        Event::Delete(pod) => {
            Some(Sight::PodGone(PodView::read(&pod.object)?, pod.object.to_string().into_boxed_str()))
        }
    })
}

/// Watches the nodes. If the account may not list them, the stream is silent, and one warning says so.
pub(super) fn nodes(cluster: &Cluster) -> BoxStream<'static, Sight> {
    let until_then = "until then nodes that disappear or are not ready are not noticed";
    let api: Api<Whole<Node>> = Api::all(cluster.client());
    sights(api, config(NODES_PAGE), "watch the nodes".to_owned(), until_then, |event| match event {
        Event::Init => Some(Sight::NodesBegin),
        Event::InitDone => Some(Sight::NodesListed),
        Event::InitApply(node) | Event::Apply(node) => NodeView::read(&node.object).map(Sight::Node),
        Event::Delete(node) => node.metadata.name.map(Sight::NodeGone),
    })
}

fn config(page: u32) -> Config {
    // Lists are read from the storage, not from a cache: a pod that a stale list does not tell yet would look deleted.
    Config::default().page_size(page).timeout(WATCH_SECONDS)
}

fn sights<K>(
    api: Api<Whole<K>>,
    config: Config,
    what: String,
    until_then: &'static str,
    read: impl Fn(Event<Whole<K>>) -> Option<Sight> + Send + 'static,
) -> BoxStream<'static, Sight>
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

/// An object of kind `K`, whole: that of a pod is evidence once the pod is gone. It is read after the watch, so that an odd object does not
/// end the watch of all others.
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

/// Removes the record of who wrote which field: nobody reads it, and it may be half of an object.
pub(super) fn slim(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

//! Watches of the API server. They recover by themselves from every interruption, with increasing
//! delays.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, future};
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::ClusterError;
use crate::pod_view::text_at;

/// The status code of a watch whose resource version has expired. This is normal, and a list
/// follows.
const GONE: u16 = 410;

/// A watched object as JSON, without the managed fields, which may be half of it.
///
/// `DynamicObject` would build each object three times, for thousands of pods.
#[derive(Debug, Clone)]
pub(crate) struct JsonObject {
    /// Only the name and what a watch needs.
    metadata: ObjectMeta,
    pub(crate) json: Value,
}

impl JsonObject {
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Map::deserialize(deserializer)?;
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        let json = Value::Object(object);
        let text = |pointer| Some(text_at(&json, pointer)).filter(|text| !text.is_empty()).map(str::to_owned);
        let metadata = ObjectMeta {
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, json })
    }
}

impl Resource for JsonObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Objects as JSON, and their changes.
pub(crate) type Watch = BoxStream<'static, Result<Event<JsonObject>, ClusterError>>;

/// Returns the objects that `api` and `config` select, as a list followed by changes.
///
/// An error says that the watch is interrupted. It is returned once for each interruption, and the
/// stream continues. A connection that drops and recovers at once does not count. `what` is the
/// caller's activity, such as "watch the nodes".
pub(crate) fn watch<K>(
    api: Api<K>,
    config: watcher::Config,
    what: String,
) -> BoxStream<'static, Result<Event<K>, ClusterError>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut interrupted = false;
    let mut broken = false;
    let events = watcher(api, config).default_backoff().filter_map(move |event| {
        future::ready(match event {
            Ok(event) => {
                // `Init` comes before any request to the server.
                if !matches!(event, Event::Init) {
                    broken = false;
                    if std::mem::take(&mut interrupted) {
                        tracing::info!("succeeded again: {what}");
                    }
                }
                Some(Ok(event))
            }
            Err(error) => {
                let breaks = matches!(error, watcher::Error::WatchFailed(_) | watcher::Error::WatchError(_));
                let passing = breaks && !std::mem::replace(&mut broken, true);
                let error = error_of(&what, &error);
                if interrupted || passing || error.code == Some(GONE) {
                    tracing::debug!("{error}; trying again");
                    None
                } else {
                    interrupted = true;
                    Some(Err(error))
                }
            }
        })
    });
    events.boxed()
}

fn error_of(what: &str, error: &watcher::Error) -> ClusterError {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => ClusterError::api(what, error),
        watcher::Error::WatchError(status) => ClusterError::api(what, &kube::Error::Api(status.clone())),
        watcher::Error::NoResourceVersion => {
            ClusterError::new(what, "the API server's answer has no `resourceVersion`")
        }
    }
}

/// Objects of one kind by name, as a watch reports them: a list, and changes from then on. After an
/// interruption there is another list.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    pub(crate) objects: BTreeMap<String, T>,
    /// Whether a list was ever complete. Then an object that is not here does not exist.
    pub(crate) complete: bool,
    /// The names seen so far in the current list.
    listed: Option<BTreeSet<String>>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), complete: false, listed: None }
    }
}

impl<T> Seen<T> {
    /// Stores an object, and returns the previous one of that name.
    pub(crate) fn put(&mut self, name: &str, object: T) -> Option<T> {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.to_owned());
        }
        self.objects.insert(name.to_owned(), object)
    }

    /// Starts a list. Known objects stay until the list is complete, so that a slow list does not
    /// look like an empty cluster.
    pub(crate) fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// Completes a list, and returns the objects that it did not contain.
    pub(crate) fn end_list(&mut self) -> Vec<T> {
        self.complete = true;
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone: Vec<String> = self.objects.keys().filter(|&name| !listed.contains(name)).cloned().collect();
        gone.iter().filter_map(|name| self.objects.remove(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_object_is_whole_but_for_its_managed_fields() {
        let text =
            r#"{"kind":"Pod","metadata":{"managedFields":[{"manager":"m"}],"name":"p","resourceVersion":"7"},"x":1}"#;
        let object: JsonObject = serde_json::from_str(text).unwrap();
        assert_eq!((object.name(), object.meta().resource_version.as_deref()), ("p", Some("7")));
        let want = r#"{"kind":"Pod","metadata":{"name":"p","resourceVersion":"7"},"x":1}"#;
        assert_eq!(object.json, serde_json::from_str::<Value>(want).unwrap());
        // Other JSON is an error.
        assert!(serde_json::from_str::<JsonObject>("[]").is_err());
    }
}

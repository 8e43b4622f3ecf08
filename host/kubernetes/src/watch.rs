//! Watches of the API server. They recover by themselves from every interruption, with increasing
//! delays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, future};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::error::ClusterError;
use crate::object_text::ObjectText;

/// The status code of a watch whose resource version has expired. This is normal, and a list
/// follows.
const GONE: u16 = 410;

/// Objects as JSON, and their changes.
pub(crate) type Watch = BoxStream<'static, Result<Event<ObjectText>, ClusterError>>;

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

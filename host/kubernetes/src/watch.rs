//! Watches of the API server. They recover by themselves from every interruption, with increasing
//! delays.

use std::fmt::Debug;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, future};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::error::ClusterError;

/// The status code of a watch whose resource version has expired. This is normal, and a list
/// follows.
const GONE: u16 = 410;

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

//! Reads a list page by page.

use std::io;

use kube::core::params::ListParams;
use serde_json::{Map, Value};

use super::fetch::{Fetch, FetchError};
use super::page::read_bytes;
use crate::error::ClusterError;

/// Objects per page. If a page is too large, smaller ones are requested.
const PAGE: u32 = 500;

/// Maximum size of a page in bytes. Eight pages may be in memory at once.
const MAX_PAGE: usize = 16 << 20;

/// Maximum size in bytes of a page that cannot be made smaller, because it has one object, or
/// because the server does not support pages.
const MAX_WHOLE: usize = 256 << 20;

/// How often a list is restarted because its continue token has expired (410).
const MAX_RESTARTS: u32 = 3;

/// Maximum number of pages of one list: five million objects. Beyond that, a server that always
/// announces another page is considered broken.
const MAX_PAGES: u32 = 10_000;

/// Receives the objects of a list.
pub(crate) trait Sink: Send + 'static {
    /// Receives one object.
    fn item(&mut self, item: Value) -> io::Result<()>;

    /// Drops all objects, because the list is restarted.
    fn restart(&mut self) -> io::Result<()>;
}

/// Selects objects of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// A label selector, or empty for all.
    pub(crate) labels: String,
    /// A field selector, or empty for all.
    pub(crate) fields: String,
    /// Whether to request only metadata.
    pub(crate) metadata_only: bool,
}

/// Reads a list into `sink`, and returns it with the metadata of the last page. `what` completes
/// the message "failed to …".
pub(crate) async fn list<S: Sink>(
    fetch: &Fetch,
    what: &str,
    path: &str,
    selection: &Selection,
    mut sink: S,
) -> Result<(S, Map<String, Value>), ClusterError> {
    let (mut limit, mut restarts) = (PAGE, 0);
    let mut token: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let max = if limit > 1 { MAX_PAGE } else { MAX_WHOLE };
        let bytes = match fetch.bytes(what, request(what, path, selection, limit, token.clone())?, max).await {
            Ok(bytes) => bytes,
            Err(FetchError::TooLarge(_)) if limit > 1 => {
                limit = (limit / 10).max(1);
                continue;
            }
            Err(FetchError::Cluster(error))
                if error.code == Some(410) && token.is_some() && restarts < MAX_RESTARTS =>
            {
                restarts += 1;
                token = None;
                sink.restart().map_err(|error| disk(what, &error))?;
                continue;
            }
            Err(error) => return Err(error.told(what)),
        };
        // Parsing and writing thousands of objects would block an async thread.
        let read = tokio::task::spawn_blocking(move || {
            let head = read_bytes(&bytes, &mut |item| sink.item(item));
            (sink, head)
        });
        let (back, head) = read.await.map_err(|error| ClusterError::new(what, error.to_string()))?;
        sink = back;
        let head = head.map_err(|error| ClusterError::new(what, error.to_string()))?;
        match head.next() {
            None => return Ok((sink, head.metadata)),
            Some(next) if token.as_deref() == Some(next) => {
                return Err(ClusterError::new(what, "the server gives the same page again and again"));
            }
            Some(next) => token = Some(next.to_owned()),
        }
    }
    Err(ClusterError::new(what, format!("the list has more than {MAX_PAGES} pages")))
}

fn request(
    what: &str,
    path: &str,
    selection: &Selection,
    limit: u32,
    token: Option<String>,
) -> Result<super::fetch::Request, ClusterError> {
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    let params = ListParams {
        label_selector: some(&selection.labels),
        field_selector: some(&selection.fields),
        limit: Some(limit),
        continue_token: token,
        ..ListParams::default()
    };
    let request = kube::core::Request::new(path);
    let built = if selection.metadata_only { request.list_metadata(&params) } else { request.list(&params) };
    built.map_err(|error| ClusterError::new(what, error.to_string()))
}

fn disk(what: &str, error: &io::Error) -> ClusterError {
    ClusterError::new(what, format!("the file system says: {error}"))
}

/// Collects the names of objects.
#[derive(Debug, Default)]
pub(crate) struct Names(pub(super) Vec<String>);

impl Sink for Names {
    fn item(&mut self, item: Value) -> io::Result<()> {
        if let Some(name) = item.pointer("/metadata/name").and_then(Value::as_str) {
            self.0.push(name.to_owned());
        }
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.0.clear();
        Ok(())
    }
}

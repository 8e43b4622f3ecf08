//! Reads objects for checks: a page of a list, or one object, within limits on rate and size. The
//! values of Secrets are never passed on.

use plumbline_core::redacted;
use plumbline_core::text::Printable;
use serde_json::Value;

use super::fetch::{Fetch, FetchError, WITHIN, get};
use super::list::{Selection, read_list, request};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names::is_safe_name;
use crate::retry::PAGE;

/// Requests per second.
const RATE: u32 = 20;

/// Maximum size of an answer in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Maximum length in bytes of selectors and of the token of a page.
const MAX_PARAMETER: usize = 16 << 10;

/// Objects to read.
#[derive(Debug, Clone, Copy)]
pub struct Objects<'a> {
    /// The API group and version, such as `apps/v1`.
    pub api_version: &'a str,
    /// The resource by its plural name.
    pub resource: &'a str,
    /// The namespace. `None` for all of them, and for objects outside namespaces.
    pub namespace: Option<&'a str>,
    /// The label selector. If empty, all objects.
    pub label_selector: &'a str,
    /// The field selector. If empty, all objects.
    pub field_selector: &'a str,
}

/// Reads objects with the permissions of a client, at most 20 requests per second.
pub struct ObjectReader {
    fetch: Fetch,
}

impl ObjectReader {
    /// Creates a reader that uses the client of `cluster`.
    #[must_use]
    pub fn new(cluster: &Cluster) -> Self {
        Self { fetch: Fetch::new(cluster.client(), f64::from(RATE), RATE) }
    }

    /// Returns the page of a list that starts at `token`, and the token of the next page. A page has
    /// at most 500 objects and 16 MiB.
    ///
    /// # Errors
    /// Returns an error if the query is invalid, the request fails, or one object is too large.
    pub async fn page(
        &self,
        objects: &Objects<'_>,
        token: Option<&str>,
    ) -> Result<(Vec<Value>, Option<String>), ClusterError> {
        let what = format!("list {} ({})", objects.resource, objects.api_version);
        let failed = |cause: String| ClusterError::new(&what, cause);
        let path = objects.path().map_err(failed)?;
        for parameter in [objects.label_selector, objects.field_selector, token.unwrap_or_default()] {
            if parameter.len() > MAX_PARAMETER {
                return Err(failed("a selector or the token of the page is too long".to_owned()));
            }
        }
        let selection = Selection {
            labels: objects.label_selector.to_owned(),
            fields: objects.field_selector.to_owned(),
            metadata_only: false,
        };
        // If a page is too large, a smaller one is requested.
        let mut limit = PAGE;
        let bytes = loop {
            let request = request(&path, &selection, limit, token.map(str::to_owned));
            let request = request.map_err(|error| failed(error.to_string()))?;
            match self.fetch.bytes(&what, request, MAX_ANSWER, WITHIN).await {
                Err(FetchError::TooLarge(_)) if limit > 1 => limit = (limit / 10).max(1),
                read => break read.map_err(|error| error.into_cluster(&what))?,
            }
        };
        let mut found = Vec::new();
        let mut take = |object| {
            found.push(redacted(objects.api_version, objects.resource, object));
            Ok(())
        };
        let metadata = read_list(serde_json::Deserializer::from_slice(&bytes), &mut take);
        let metadata = metadata.map_err(|error| failed(error.to_string()))?;
        let next = metadata.get("continue").and_then(Value::as_str).filter(|next| !next.is_empty());
        Ok((found, next.map(str::to_owned)))
    }

    /// Returns an object of at most 16 MiB, or `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the query is invalid, the resource does not exist, or the request fails.
    pub async fn get(&self, objects: &Objects<'_>, name: &str) -> Result<Option<Value>, ClusterError> {
        let what = format!("read {} ({})", objects.resource, objects.api_version);
        let failed = |cause: String| ClusterError::new(&what, cause);
        if !is_segment(name) {
            return Err(failed(format!("`{}` is not the name of an object", shown(name))));
        }
        let path = format!("{}/{name}", objects.path().map_err(failed)?);
        let bytes = match self.fetch.bytes(&what, get(&what, &path)?, MAX_ANSWER, WITHIN).await {
            Ok(bytes) => bytes,
            Err(FetchError::Cluster(error)) if says_missing_object(&error) => return Ok(None),
            Err(error) => return Err(error.into_cluster(&what)),
        };
        let object = serde_json::from_slice(&bytes);
        let object = object.map_err(|error| failed(format!("the answer is not JSON: {error}")))?;
        Ok(Some(redacted(objects.api_version, objects.resource, object)))
    }
}

impl Objects<'_> {
    fn path(&self) -> Result<String, String> {
        let group = self.api_version.split_once('/');
        let parts = group.map_or(["", self.api_version], |(group, version)| [group, version]);
        let safe = |text: &str| text.is_empty() || is_safe_name(text);
        if !parts.into_iter().all(safe) || !is_safe_name(self.resource) {
            return Err("the API version or the resource is invalid".to_owned());
        }
        let root = if group.is_some() { "/apis" } else { "/api" };
        let place = match self.namespace {
            Some(name) if is_safe_name(name) => format!("namespaces/{name}/"),
            Some(name) => return Err(format!("`{}` is not the name of a namespace", shown(name))),
            None => String::new(),
        };
        Ok(format!("{root}/{}/{place}{}", self.api_version, self.resource))
    }
}

/// Returns whether a server says that an object does not exist.
///
/// Of a resource that it does not have, it says another sentence. For an API group that it does not
/// have, it sends a text, as a proxy does.
fn says_missing_object(error: &ClusterError) -> bool {
    error.is_not_found()
        && error.reason.as_deref() == Some("NotFound")
        && !error.cause.contains("could not find the requested resource")
}

/// Returns whether `name` can be a segment of a path. Names of RBAC objects may contain colons.
fn is_segment(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':');
    (1..=253).contains(&name.len()) && !matches!(name, "." | "..") && name.bytes().all(plain)
}

/// Returns a name from a check for a message.
fn shown(text: &str) -> Printable {
    Printable::escaped(text, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects<'a>(api_version: &'a str, resource: &'a str, namespace: Option<&'a str>) -> Objects<'a> {
        Objects { api_version, resource, namespace, label_selector: "", field_selector: "" }
    }

    #[test]
    fn paths_stay_below_their_collection() {
        let path = |objects: Objects<'_>| objects.path();
        assert_eq!(path(objects("v1", "nodes", None)).unwrap(), "/api/v1/nodes");
        assert_eq!(
            path(objects("apps/v1", "daemonsets", Some("kube-system"))).unwrap(),
            "/apis/apps/v1/namespaces/kube-system/daemonsets"
        );
        for bad in ["..", "a/b", "a?x", "%2e%2e", "", "a#"] {
            assert!(path(objects("v1", "pods", Some(bad))).is_err(), "{bad}");
            assert!(!is_segment(bad), "{bad}");
        }
        assert!(is_segment("system:node-proxier") && is_segment("n1.example.org"));
    }
}

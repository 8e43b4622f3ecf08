//! The aggregator's requests to the API server, from the recorded requests.

use std::collections::BTreeMap;

use http::Method;
use plumbline_kubernetes::names;
use serde_json::Value;

use crate::Recorded;
use crate::api::access;
use crate::api::request::{Query, Target, parse_path};

/// Counts of requests to the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of requests by verb and resource, such as `patch pods`.
    pub requests: BTreeMap<String, u64>,
    /// Number of requests with an error response.
    pub refused: u64,
    /// Number of writes of the status to the aggregator's pod.
    pub status_writes: u64,
    /// Size in bytes of the largest status.
    pub status_bytes: usize,
    /// Size in bytes of the largest set of annotations that was written to the aggregator's pod,
    /// keys and values.
    pub annotation_bytes: usize,
    /// Number of writes of the full status.
    pub full_writes: u64,
    /// Size in bytes of the largest full status, compressed and encoded as in the ConfigMap.
    pub full_bytes: usize,
}

impl Traffic {
    pub(super) fn of(requests: &[Recorded]) -> Self {
        let mut traffic = Self::default();
        for request in requests {
            traffic.add(request);
        }
        traffic
    }

    fn add(&mut self, request: &Recorded) {
        let (verb, resource, name) = operation(&request.method, &request.path, &request.query);
        *self.requests.entry(format!("{verb} {resource}")).or_default() += 1;
        // The status is 0 for a request in progress, such as a watch.
        self.refused += u64::from(request.status >= 400);
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        match (verb, resource.as_str(), name.as_deref()) {
            ("patch", "pods", Some(names::AGGREGATOR_POD)) => {
                let body = body();
                let annotations = body.pointer("/metadata/annotations").and_then(Value::as_object);
                let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
                self.status_writes += 1;
                self.annotation_bytes = self.annotation_bytes.max(annotations.into_iter().flatten().map(size).sum());
                let status = annotations.and_then(|all| all.get(names::STATUS_ANNOTATION)?.as_str());
                self.status_bytes = self.status_bytes.max(status.map_or(0, str::len));
            }
            ("patch" | "create", "configmaps", _) => {
                let data = body().pointer("/binaryData").and_then(Value::as_object).cloned().unwrap_or_default();
                self.full_writes += u64::from(verb == "patch");
                self.full_bytes = self.full_bytes.max(data.values().filter_map(Value::as_str).map(str::len).sum());
            }
            _ => {}
        }
    }

    /// Returns the number of all requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Returns the number of requests with this verb.
    #[must_use]
    pub fn verb(&self, verb: &str) -> u64 {
        let of_verb = |(key, count): (&String, &u64)| (key.split(' ').next() == Some(verb)).then_some(*count);
        self.requests.iter().filter_map(of_verb).sum()
    }
}

/// Returns the verb and the resource of a request, such as `patch pods`.
pub(crate) fn kind_of(method: &str, path: &str, query: &str) -> String {
    let (verb, resource, _) = operation(method, path, query);
    format!("{verb} {resource}")
}

/// Returns the verb of a request, the resource with its subresource (`pods/log`), and the name.
fn operation(method: &str, path: &str, query: &str) -> (&'static str, String, Option<String>) {
    let Some(Target::Objects(object)) = parse_path(path) else {
        // The server's version, and its resources.
        return ("get", path.trim_matches('/').to_owned(), None);
    };
    let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
    let verb = match access::verbs(&method, &object, &Query::parse(query)) {
        ["deletecollection"] => "delete",
        [verb, ..] => *verb,
        [] => "other",
    };
    let resource = access::with_subresource(&object.resource, object.subresource.as_deref().unwrap_or_default());
    (verb, resource, object.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, query: &str, body: &str) -> Recorded {
        Recorded {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            body: body.into(),
            content_type: String::new(),
            status: 200,
        }
    }

    #[test]
    fn requests_are_counted_by_what_they_are_about() {
        let traffic = Traffic::of(&[
            request("GET", "/api/v1/nodes", "limit=500", ""),
            request("GET", "/api/v1/namespaces/ns/pods", "watch=true&limit=1", ""),
            request("GET", "/api/v1/namespaces/ns/pods/p/log", "container=c", ""),
            request("GET", "/api/v1/namespaces/ns", "", ""),
            request("DELETE", "/apis/apps/v1/namespaces/ns/daemonsets/d", "", ""),
            request("PATCH", "/api/v1/namespaces/ns/pods/other", "", "{}"),
            request("GET", "/version", "", ""),
        ]);
        let keys: Vec<_> = traffic.requests.keys().map(String::as_str).collect();
        let expected = [
            "delete daemonsets",
            "get namespaces",
            "get pods/log",
            "get version",
            "list nodes",
            "patch pods",
            "watch pods",
        ];
        assert_eq!(keys, expected);
        assert_eq!((traffic.total(), traffic.verb("get"), traffic.status_writes), (7, 3, 0));
    }

    #[test]
    fn the_largest_status_counts() {
        let status = |length: usize| {
            let text = "x".repeat(length);
            let annotations = serde_json::json!({names::STATUS_ANNOTATION: text, names::STATUS_ANNOTATION_ALIAS: text});
            let body = serde_json::json!({"metadata": {"annotations": annotations}}).to_string();
            request("PATCH", "/api/v1/namespaces/ns/pods/sonobuoy", "", &body)
        };
        let traffic = Traffic::of(&[status(10), status(100), status(1)]);
        let keys = names::STATUS_ANNOTATION.len() + names::STATUS_ANNOTATION_ALIAS.len();
        assert_eq!((traffic.status_writes, traffic.status_bytes, traffic.annotation_bytes), (3, 100, 200 + keys));
    }
}

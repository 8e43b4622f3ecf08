//! Access control: everything is allowed, except what a test has denied.

use std::collections::HashSet;

use http::Method;
use serde_json::{Value, json};

use crate::api::{
    answer::Failure,
    json as at,
    request::{ObjectPath, Query},
    resources::Resource,
    state::State,
};

/// Returns the verbs that a request needs. Opening a stream into a container needs two, because
/// servers differ in which one they check.
pub(crate) fn verbs(method: &Method, path: &ObjectPath, query: &Query) -> &'static [&'static str] {
    let one = path.name.is_some();
    match method.as_str() {
        _ if path.subresource.as_deref() == Some("exec") => &["create", "get"],
        "GET" | "HEAD" if query.flag("watch") => &["watch"],
        "GET" | "HEAD" if one => &["get"],
        "GET" | "HEAD" => &["list"],
        "POST" => &["create"],
        "PUT" => &["update"],
        "PATCH" => &["patch"],
        "DELETE" if one => &["delete"],
        "DELETE" => &["deletecollection"],
        _ => &[],
    }
}

/// Rejects a request that a test has denied.
pub(crate) fn check(state: &State, verbs: &[&str], resource: &Resource, path: &ObjectPath) -> Result<(), Failure> {
    let what = with_subresource(&path.resource, path.subresource.as_deref().unwrap_or_default());
    let Some(verb) = verbs.iter().find(|verb| is_denied(&state.denied, verb, &what)) else {
        return Ok(());
    };
    let place = match &path.namespace {
        Some(namespace) => format!("in the namespace \"{namespace}\""),
        None => "at the cluster scope".to_owned(),
    };
    let name = path.name.as_deref().unwrap_or_default();
    let subject = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
    let message = format!(
        "{}{subject} is forbidden: User \"double\" cannot {verb} resource \"{what}\" in API group \"{}\" {place}",
        resource.id(),
        resource.group
    );
    Err(Failure::plain(403, message).about(resource, name))
}

pub(crate) fn with_subresource(resource: &str, subresource: &str) -> String {
    if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") }
}

fn is_denied(denied: &HashSet<(String, String)>, verb: &str, resource: &str) -> bool {
    let denies = |verb: &str, resource: &str| denied.contains(&(verb.to_owned(), resource.to_owned()));
    denies(verb, resource) || denies(verb, "*") || denies("*", resource) || denies("*", "*")
}

/// Answers a SelfSubjectAccessReview.
pub(crate) fn review(state: &State, mut review: Value) -> Value {
    let attributes = "/spec/resourceAttributes";
    let field = |name: &str| at::text(&review, &format!("{attributes}/{name}")).to_owned();
    let resource = with_subresource(&field("resource"), &field("subresource"));
    let denied = is_denied(&state.denied, &field("verb"), &resource);
    let mut status = json!({"allowed": !denied});
    if denied {
        at::set(&mut status, &["reason"], "forbidden by the test");
    }
    at::set(&mut review, &["status"], status);
    review
}

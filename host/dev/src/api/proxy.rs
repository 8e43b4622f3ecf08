//! The responses of nodes to requests through the server.

use crate::api::{
    answer::{self, Answer, Failure},
    request::ObjectPath,
    resources::Resource,
    state::State,
};

/// Answers `nodes/NODE/proxy/PATH`.
pub(crate) fn answer(state: &State, resource: &Resource, path: &ObjectPath) -> Result<Answer, Failure> {
    let name = path.name.as_deref().unwrap_or_default();
    // The name may include a port: `node:10250`.
    let node = name.split(':').next().unwrap_or_default();
    match state.proxied.get(&(node.to_owned(), path.rest.clone())) {
        Some((code, body)) => {
            let content_type =
                if body.starts_with(['{', '[']) { "application/json" } else { "text/plain; charset=utf-8" };
            Ok(answer::bytes(*code, content_type, body.clone()))
        }
        None if state.store.get("nodes", "", node).is_some() => Ok(answer::text(404, "404 page not found\n")),
        None => Err(Failure::not_found(resource, node)),
    }
}

//! Routes requests to their handlers.

use std::sync::Arc;

use http::{Method, header};

use crate::api::{
    access,
    answer::{self, Answer, Failure},
    discovery, exec, logs, objects,
    read::{Call, Shape},
    request::{ObjectPath, Request, Target, parse_path},
    resources::Resource,
    state::{Shared, State},
    watch,
};

pub(crate) fn answer(shared: &Arc<Shared>, request: Request) -> Answer {
    let answered = match parse_path(&request.path) {
        None => Err(Failure::unknown_path()),
        Some(Target::Objects(path)) => objects(shared, &path, request),
        Some(target) if request.method == Method::GET => shared.look(|state| discovery::answer(state, &target)),
        Some(_) => Err(Failure::plain(405, "the server does not allow this method on the requested resource")),
    };
    answered.unwrap_or_else(|failure| answer::failure(&failure))
}

fn objects(shared: &Arc<Shared>, path: &ObjectPath, request: Request) -> Result<Answer, Failure> {
    let resource = shared.look(|state| {
        let resource = find(state.resources.at(&path.group, &path.version, &path.resource), path)?;
        access::check(state, access::verbs(&request.method, path, &request.query), &resource, path)?;
        Ok::<_, Failure>(resource)
    })?;
    let shape = Shape::accepted(request.header(header::ACCEPT));
    match (request.method.as_str(), resource.id().as_str(), path.subresource.as_deref()) {
        ("GET", _, None) if request.query.flag("watch") => watch::open(shared, &resource, path, &request, shape),
        ("GET", "pods", Some("log")) => logs::open(shared, &resource, path, &request.query),
        ("GET" | "POST", "pods", Some("exec")) => exec::open(shared, &resource, path, request),
        ("GET", "nodes", Some("proxy")) => shared.look(|state| proxy(state, &resource, path)),
        _ => {
            let content_type = request.header(header::CONTENT_TYPE);
            let call =
                Call { method: &request.method, path, query: &request.query, content_type, shape, body: &request.body };
            // Reads do not wake watches.
            match request.method {
                Method::GET => shared.note(|state| objects::answer(state, &resource, &call)),
                _ => shared.change(|state| objects::answer(state, &resource, &call)),
            }
        }
    }
}

/// Returns the resource, if the path has a namespace exactly where it needs one.
fn find(resource: Option<&Resource>, path: &ObjectPath) -> Result<Resource, Failure> {
    let resource = resource.ok_or_else(Failure::unknown_path)?;
    let in_namespace = path.namespace.is_some();
    let fits = if resource.namespaced { in_namespace || path.name.is_none() } else { !in_namespace };
    if fits { Ok(resource.clone()) } else { Err(Failure::unknown_path()) }
}

/// Answers `nodes/NODE/proxy/PATH`.
fn proxy(state: &State, resource: &Resource, path: &ObjectPath) -> Result<Answer, Failure> {
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

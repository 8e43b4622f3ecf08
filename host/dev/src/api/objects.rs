//! Requests for objects.

use http::Method;
use serde_json::{Value, json};

use crate::api::{
    access,
    answer::{self, Answer, Failure},
    deletion::{self, Dependents},
    json as at,
    read::{self, Call},
    resources::Resource,
    selector::selector,
    state::State,
    store::key_of,
    write,
};

/// Answers every request that is not a stream.
pub(crate) fn answer(state: &mut State, resource: &Resource, call: &Call<'_>) -> Result<Answer, Failure> {
    if resource.review {
        return if *call.method == Method::POST { review(state, call) } else { Err(not_allowed()) };
    }
    let name = call.path.name.as_deref();
    let status = match call.path.subresource.as_deref() {
        None => false,
        Some("status") if resource.status => true,
        Some(_) => return Err(Failure::unknown_path()),
    };
    match (call.method.as_str(), name) {
        ("GET", Some(name)) => Ok(answer::json(200, &read::one(state, resource, call, name)?)),
        ("GET", None) => Ok(answer::json(200, &read::list(state, resource, call)?)),
        ("POST", None) if resource.namespaced && call.path.namespace.is_none() => Err(not_allowed()),
        ("POST", None) => Ok(answer::json(201, &write::create(state, resource, call)?)),
        ("PUT", Some(name)) => Ok(answer::json(200, &write::replace(state, resource, call, name)?)),
        ("PATCH", Some(name)) => {
            let (code, object) = write::patch(state, resource, call, name)?;
            Ok(answer::json(code, &object))
        }
        ("DELETE", Some(name)) if !status => Ok(answer::json(200, &delete(state, resource, call, name)?)),
        ("DELETE", None) if resource.id() != "namespaces" => {
            Ok(answer::json(200, &delete_many(state, resource, call)?))
        }
        _ => Err(not_allowed()),
    }
}

fn not_allowed() -> Failure {
    Failure::plain(405, "the server does not allow this method on the requested resource")
}

fn review(state: &State, call: &Call<'_>) -> Result<Answer, Failure> {
    let asked: Value = serde_json::from_slice(call.body)
        .map_err(|error| Failure::bad_request(format!("couldn't read the body as JSON: {error}")))?;
    Ok(answer::json(201, &access::review(state, asked)))
}

/// The options of a deletion, from the body or the query.
struct Options {
    body: Value,
    dependents: Dependents,
    dry: bool,
}

fn options(resource: &Resource, call: &Call<'_>) -> Result<Options, Failure> {
    let body = if call.body.is_empty() {
        json!({})
    } else {
        serde_json::from_slice(call.body)
            .map_err(|error| Failure::bad_request(format!("couldn't read the options as JSON: {error}")))?
    };
    let policy = Some(at::text(&body, "/propagationPolicy")).filter(|policy| !policy.is_empty());
    let policy = policy.or(call.query.get("propagationPolicy")).unwrap_or_default();
    let dependents = Dependents::asked(policy, &resource.id());
    let dry = call.query.get("dryRun").is_some() || !at::array(&body, "/dryRun").is_empty();
    Ok(Options { body, dependents, dry })
}

fn delete(state: &mut State, resource: &Resource, call: &Call<'_>, name: &str) -> Result<Value, Failure> {
    let options = options(resource, call)?;
    let namespace = call.namespace();
    let id = resource.id();
    let object = state.store.get(&id, namespace, name).ok_or_else(|| Failure::not_found(resource, name))?;
    for field in ["uid", "resourceVersion"] {
        let expected = at::text(&options.body, &format!("/preconditions/{field}"));
        let found = at::text(object, &format!("/metadata/{field}"));
        if !expected.is_empty() && expected != found {
            let why = format!("the precondition failed: {field} in precondition: {expected}, in object: {found}");
            return Err(Failure::conflict(resource, name, &why));
        }
    }
    if options.dry {
        return Ok(call.shape.show(resource, object));
    }
    let last = deletion::delete(&mut state.store, &id, namespace, name, options.dependents);
    let last = last.ok_or_else(|| Failure::not_found(resource, name))?;
    Ok(call.shape.show(resource, &last))
}

fn delete_many(state: &mut State, resource: &Resource, call: &Call<'_>) -> Result<Value, Failure> {
    let options = options(resource, call)?;
    let selector = selector(call.query, resource)?;
    let id = resource.id();
    let in_place = |namespace: &str| call.path.namespace.as_deref().is_none_or(|wanted| wanted == namespace);
    let meant = |object: &Value| in_place(&key_of(object).0) && selector.matches(object);
    let mut objects: Vec<_> = state.store.list(&id).map(|(_, object)| object).filter(|o| meant(o)).cloned().collect();
    if !options.dry {
        for object in &mut objects {
            let (namespace, name) = key_of(object);
            if let Some(last) = deletion::delete(&mut state.store, &id, &namespace, &name, options.dependents) {
                *object = last;
            }
        }
    }
    let metadata = json!({"resourceVersion": state.store.version().to_string()});
    Ok(call.shape.list(resource, metadata, objects.iter().map(AsRef::as_ref)))
}

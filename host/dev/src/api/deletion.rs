//! Deletion of objects: finalizers, namespaces with their content, and garbage collection of
//! dependents.

use std::sync::Arc;

use serde_json::Value;

use crate::api::{
    json,
    store::{Key, Store, key_of, now},
};

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// They are deleted too.
    Delete,
    /// They stay, without their owner reference.
    Orphan,
}

impl Dependents {
    /// Returns the policy that a client asked for. By default, Jobs orphan their pods, as real
    /// servers do.
    pub(crate) fn asked(policy: &str, resource: &str) -> Self {
        match policy {
            "Orphan" => Self::Orphan,
            "" if resource == "jobs.batch" => Self::Orphan,
            _ => Self::Delete,
        }
    }
}

/// Deletes one object, or marks it as deleted if a finalizer holds it. Returns its last state.
pub(crate) fn delete(
    store: &mut Store,
    resource: &str,
    namespace: &str,
    name: &str,
    dependents: Dependents,
) -> Option<Arc<Value>> {
    let object = Arc::clone(store.get(resource, namespace, name)?);
    let held = !json::array(&object, "/metadata/finalizers").is_empty();
    if resource == "namespaces" || held {
        let marked = mark(store, resource, &object);
        if resource == "namespaces" {
            let inside =
                |(other, key, _): (&Arc<str>, &Key, _)| (key.0 == name).then(|| (Arc::clone(other), key.clone()));
            let inside: Vec<_> = store.everything().filter_map(inside).collect();
            for (other, (namespace, name)) in inside {
                delete(store, &other, &namespace, &name, Dependents::Delete);
            }
        }
        return Some(marked);
    }
    let last = store.erase(resource, namespace, name)?;
    disown(store, json::text(&last, "/metadata/uid"), dependents);
    Some(last)
}

fn mark(store: &mut Store, resource: &str, object: &Arc<Value>) -> Arc<Value> {
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Arc::clone(object);
    }
    let mut marked = Value::clone(object);
    json::set(&mut marked, &["metadata", "deletionTimestamp"], now());
    json::set(&mut marked, &["metadata", "deletionGracePeriodSeconds"], 0);
    if resource == "namespaces" {
        json::set(&mut marked, &["status", "phase"], "Terminating");
    }
    store.write(resource, marked)
}

/// Handles the dependents of a deleted object. A dependent with another existing owner stays.
pub(crate) fn disown(store: &mut Store, uid: &str, dependents: Dependents) {
    // A DaemonSet takes thousands of pods with it. Searching all objects for each of them would
    // take minutes.
    if uid.is_empty() || !store.is_owner(uid) {
        return;
    }
    let refers = |object: &Value, uid: &str| {
        json::array(object, "/metadata/ownerReferences").iter().any(|owner| json::text(owner, "/uid") == uid)
    };
    let owned: Vec<_> = store
        .everything()
        .filter(|(_, _, object)| refers(object, uid))
        .map(|(resource, _, object)| (Arc::clone(resource), Arc::clone(object)))
        .collect();
    for (resource, object) in owned {
        let others = json::array(&object, "/metadata/ownerReferences").iter().map(|owner| json::text(owner, "/uid"));
        let others: Vec<_> = others.filter(|other| *other != uid).collect();
        let still_owned = !others.is_empty()
            && store.everything().any(|(_, _, object)| others.contains(&json::text(object, "/metadata/uid")));
        if dependents == Dependents::Delete && !still_owned {
            let (namespace, name) = key_of(&object);
            delete(store, &resource, &namespace, &name, dependents);
        } else {
            let mut free = Value::clone(&object);
            if let Some(owners) = free.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) {
                owners.retain(|owner| json::text(owner, "/uid") != uid);
            }
            store.write(&resource, free);
        }
    }
}

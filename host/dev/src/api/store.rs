//! The store of objects, with the history of changes for watches.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use jiff::{Timestamp, Unit};
use serde_json::Value;

use crate::api::json;

/// The first resource version: far from zero, which has a special meaning.
const FIRST_VERSION: u64 = 1000;

/// Namespace and name.
pub(crate) type Key = (String, String);

/// All objects by resource (`Resource::id`), namespace and name, with a common version counter.
#[derive(Debug)]
pub(crate) struct Store {
    version: u64,
    objects: HashMap<Arc<str>, BTreeMap<Key, Arc<Value>>>,
    /// The UIDs that objects have ever used in owner references. An object whose UID is not among
    /// them has no dependents.
    owners: HashSet<String>,
    pub(crate) changes: Changes,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { version: FIRST_VERSION, objects: HashMap::new(), owners: HashSet::new(), changes: Changes::default() }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(resource)?.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// Returns the objects of a resource, ordered by namespace and name.
    pub(crate) fn list(&self, resource: &str) -> impl Iterator<Item = (&Key, &Arc<Value>)> + use<'_> {
        self.objects.get(resource).into_iter().flatten()
    }

    /// Returns whether an object ever had an owner reference with this UID.
    pub(crate) fn is_owner(&self, uid: &str) -> bool {
        self.owners.contains(uid)
    }

    pub(crate) fn everything(&self) -> impl Iterator<Item = (&Arc<str>, &Key, &Arc<Value>)> {
        self.objects
            .iter()
            .flat_map(|(resource, objects)| objects.iter().map(move |(key, object)| (resource, key, object)))
    }

    /// Creates or replaces an object, and sets its UID, creation time, generation and version.
    ///
    /// A write without a change is ignored. An object that is marked as deleted and has lost its
    /// last finalizer is deleted.
    pub(crate) fn write(&mut self, resource: &str, mut object: Value) -> Arc<Value> {
        let key = key_of(&object);
        let before = self.objects.get(resource).and_then(|objects| objects.get(&key)).cloned();
        fill_in(&mut object, before.as_deref());
        if let Some(before) = before.as_ref().filter(|before| ***before == object) {
            return Arc::clone(before);
        }
        for owner in json::array(&object, "/metadata/ownerReferences") {
            let uid = json::text(owner, "/uid");
            if !self.owners.contains(uid) {
                self.owners.insert(uid.to_owned());
            }
        }
        self.version += 1;
        json::set(&mut object, &["metadata", "resourceVersion"], self.version.to_string());
        let after = Arc::new(object);
        let resource: Arc<str> = resource.into();
        self.objects.entry(Arc::clone(&resource)).or_default().insert(key.clone(), Arc::clone(&after));
        let change = Change {
            version: self.version,
            resource: Arc::clone(&resource),
            before,
            after: Arc::clone(&after),
            gone: false,
        };
        self.changes.push(change);
        if self.is_released(&resource, &after) {
            self.erase(&resource, &key.0, &key.1);
        }
        after
    }

    /// Deletes an object, ignoring finalizers. Also deletes its namespace, if that is marked as
    /// deleted and is now empty.
    pub(crate) fn erase(&mut self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let before = self.objects.get_mut(resource)?.remove(&(namespace.to_owned(), name.to_owned()))?;
        self.version += 1;
        let mut last = Value::clone(&before);
        json::set(&mut last, &["metadata", "resourceVersion"], self.version.to_string());
        let last = Arc::new(last);
        self.changes.push(Change {
            version: self.version,
            resource: resource.into(),
            before: Some(before),
            after: Arc::clone(&last),
            gone: true,
        });
        let around = self.get("namespaces", "", namespace).cloned();
        if around.is_some_and(|around| self.is_released("namespaces", &around)) {
            self.erase("namespaces", "", namespace);
        }
        Some(last)
    }

    /// Expires every version before the current one.
    pub(crate) fn forget_changes(&mut self) {
        // Increment the version, so that the version of the last list expires too.
        self.version += 1;
        self.changes.forget(self.version);
    }

    /// Returns whether an object is marked as deleted and nothing holds it any more.
    fn is_released(&self, resource: &str, object: &Value) -> bool {
        let deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        let name = json::text(object, "/metadata/name");
        deleted
            && json::array(object, "/metadata/finalizers").is_empty()
            && (resource != "namespaces" || !self.everything().any(|(_, (namespace, _), _)| namespace == name))
    }
}

pub(crate) fn key_of(object: &Value) -> Key {
    (json::text(object, "/metadata/namespace").to_owned(), json::text(object, "/metadata/name").to_owned())
}

/// Returns the current time as objects have it: in whole seconds.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}

fn fill_in(object: &mut Value, before: Option<&Value>) {
    let has = |object: &Value, pointer: &str| object.pointer(pointer).is_some_and(|value| !value.is_null());
    let kept = |pointer: &str| before.and_then(|before| before.pointer(pointer)).cloned();
    if !has(object, "/metadata/uid") {
        let uid = kept("/metadata/uid").unwrap_or_else(|| uuid::Uuid::new_v4().to_string().into());
        json::set(object, &["metadata", "uid"], uid);
    }
    if !has(object, "/metadata/creationTimestamp") {
        let time = kept("/metadata/creationTimestamp").unwrap_or_else(|| now().into());
        json::set(object, &["metadata", "creationTimestamp"], time);
    }
    if has(object, "/spec") {
        let former = kept("/metadata/generation").and_then(|generation| generation.as_u64()).unwrap_or_default();
        let same = before.is_some_and(|before| before.get("spec") == object.get("spec"));
        let generation = if same { former.max(1) } else { former + 1 };
        json::set(object, &["metadata", "generation"], generation);
    }
    // Keep the version for the comparison with the existing object.
    if let Some(version) = kept("/metadata/resourceVersion") {
        json::set(object, &["metadata", "resourceVersion"], version);
    }
}

/// Number of changes to keep, from which watches can start. A test that makes more sees the
/// behavior of a real server: old versions expire.
const KEPT: usize = 100_000;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    /// The ID of the resource ([`crate::api::resources::Resource::id`]).
    pub(crate) resource: Arc<str>,
    /// The object before the change; `None` if it is new.
    pub(crate) before: Option<Arc<Value>>,
    /// The object after the change. For a deleted object, its last state.
    pub(crate) after: Arc<Value>,
    pub(crate) gone: bool,
}

/// The latest changes, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    changes: VecDeque<Change>,
    /// The oldest version from which a watch can start.
    oldest: u64,
}

impl Changes {
    pub(crate) fn push(&mut self, change: Change) {
        if self.changes.len() == KEPT
            && let Some(forgotten) = self.changes.pop_front()
        {
            self.oldest = forgotten.version;
        }
        self.changes.push_back(change);
    }

    /// Forgets everything up to and including a version.
    pub(crate) fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.oldest = version;
    }

    /// Returns whether changes since that version may have been forgotten.
    pub(crate) fn is_too_old(&self, version: u64) -> bool {
        version < self.oldest
    }

    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        let start = self.changes.partition_point(|change| change.version <= version);
        self.changes.range(start..)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, extra: Value) -> Value {
        let mut pod = json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"nodeName": "a"}});
        crate::api::patch::merge(&mut pod, &extra);
        pod
    }

    #[test]
    fn a_write_that_changes_nothing_is_none() {
        let mut store = Store::new();
        let first = store.write("pods", pod("p", json!({})));
        let version = store.version();
        let second = store.write("pods", pod("p", json!({})));
        assert_eq!((first, version), (second, store.version()));
        let third = store.write("pods", pod("p", json!({"spec": {"nodeName": "b"}})));
        assert_eq!(third.pointer("/metadata/generation"), Some(&json!(2)));
        assert_eq!(store.changes.since(version).count(), 1);
    }
}

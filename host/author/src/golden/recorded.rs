//! The recorded objects of a case, which a check reads in place of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::{Rights, Selector, redacted};
use plumbline_sandbox::{ClusterReader, ObjectPage, ObjectQuery};
use serde_json::Value;

use super::actual::unusable;
use super::case::OBJECTS;
use crate::snapshot::read;

/// Maximum number of files with objects.
const MAX_FILES: usize = 1_000;
/// Maximum size in bytes of all files with objects.
const MAX_BYTES: u64 = 64 << 20;
/// Number of objects in a page, as in a run.
const PAGE: usize = 500;

/// An API version and the plural name of a resource.
type Resource = (String, String);

/// Resources that the check read and the case does not have, one sentence each.
#[derive(Debug, Clone, Default)]
pub(super) struct Unrecorded(Arc<Mutex<BTreeSet<String>>>);

impl Unrecorded {
    pub(super) fn add(&self, sentence: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(sentence.to_owned());
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The recorded objects, and what the check may read of them.
pub(super) struct Recordings {
    rights: Rights,
    resources: BTreeMap<Resource, Vec<Value>>,
    unrecorded: Unrecorded,
}

impl Recordings {
    /// Reads the objects below `case` for a check with these rights. The error is a sentence.
    pub(super) fn read(case: &Path, rights: Rights, unrecorded: Unrecorded) -> Result<Self, String> {
        let mut recordings = Self { rights, resources: BTreeMap::new(), unrecorded };
        let mut left = MAX_BYTES;
        for path in files(&case.join(OBJECTS))? {
            let bytes = read(&path, left).map_err(|error| unusable(&path, &error))?;
            left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
                format!("`{OBJECTS}` has more than {} MiB: keep only what the check reads", MAX_BYTES >> 20)
            })?;
            let wrong = |error: &dyn std::fmt::Display| unusable(&path, error);
            let documents: Vec<Value> = match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => vec![serde_json::from_slice(&bytes).map_err(|error| wrong(&error))?],
                Some("yaml" | "yml") => {
                    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(&error))?;
                    serde_saphyr::from_multiple(text).map_err(|error| wrong(&error))?
                }
                _ => return Err(wrong(&"expected a file `*.json` or `*.yaml`")),
            };
            for document in documents {
                recordings.add(document).map_err(|error| wrong(&error))?;
            }
        }
        Ok(recordings)
    }

    /// Adds a list, or a single object. The error is a sentence.
    fn add(&mut self, mut document: Value) -> Result<(), String> {
        let kind = text(&document, "kind").unwrap_or_default().to_owned();
        let Some(item_kind) = kind.strip_suffix("List").filter(|_| document.get("items").is_some()) else {
            return self.add_object(document, None);
        };
        let Some(Value::Array(items)) = document.get_mut("items").map(Value::take) else {
            return Err("`items` is not a list".to_owned());
        };
        let api_version = text(&document, "apiVersion").unwrap_or_default();
        // Without items, `kubectl` does not say what the list is of.
        if item_kind.is_empty() && items.is_empty() {
            let expected = "write the kind of an empty list, such as `kind: NodeList`";
            return Err(format!("an empty list of an unknown kind: {expected}"));
        }
        if !item_kind.is_empty() {
            self.resources.entry(resource(api_version, item_kind)?).or_default();
        }
        let of_list = (!item_kind.is_empty()).then_some((api_version, item_kind));
        items.into_iter().try_for_each(|item| self.add_object(item, of_list))
    }

    /// Adds an object. Those in a list of one kind have neither kind nor version of their own.
    fn add_object(&mut self, object: Value, of_list: Option<(&str, &str)>) -> Result<(), String> {
        let (list_version, list_kind) = of_list.unwrap_or_default();
        let own = (text(&object, "apiVersion").unwrap_or(list_version), text(&object, "kind").unwrap_or(list_kind));
        let (api_version, resource) = resource(own.0, own.1)?;
        if name_of(&object).is_none() {
            return Err(format!("an object of kind `{}` has no `metadata.name`", own.1));
        }
        let object = redacted(&api_version, &resource, object);
        self.resources.entry((api_version, resource)).or_default().push(object);
        Ok(())
    }

    /// Returns the objects of the resource of a query. The error is a sentence for the check.
    fn of_resource(&self, query: &ObjectQuery) -> Result<&[Value], String> {
        let ObjectQuery { api_version, resource, namespace, .. } = query;
        self.rights.admit(api_version, resource, namespace.as_deref()).map_err(|error| error.to_string())?;
        let found = self.resources.get(&(api_version.clone(), resource.clone()));
        found.map(Vec::as_slice).ok_or_else(|| {
            let sentence = format!("the case has no recording of `{resource}` ({api_version}) in `{OBJECTS}/`");
            self.unrecorded.add(&sentence);
            sentence
        })
    }
}

impl ClusterReader for Recordings {
    fn list(&mut self, query: &ObjectQuery, token: Option<&str>) -> Result<ObjectPage, String> {
        let selector = Selector::parse(&query.label_selector, &query.field_selector);
        let selector = selector.map_err(|error| error.to_string())?;
        let start: usize =
            token.map_or(Ok(0), str::parse).map_err(|_| "the token of the page is invalid".to_owned())?;
        let namespace = query.namespace.as_deref();
        let is_wanted = |object: &&Value| {
            namespace.is_none_or(|wanted| namespace_of(object) == Some(wanted)) && selector.matches(object)
        };
        let mut wanted = self.of_resource(query)?.iter().filter(is_wanted).skip(start);
        let objects: Vec<String> = wanted.by_ref().take(PAGE).map(Value::to_string).collect();
        let next = wanted.next().map(|_| (start + objects.len()).to_string());
        Ok(ObjectPage { objects, next })
    }

    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<String>, String> {
        let is_wanted =
            |object: &&Value| name_of(object) == Some(name) && namespace_of(object) == query.namespace.as_deref();
        Ok(self.of_resource(query)?.iter().find(is_wanted).map(Value::to_string))
    }
}

/// Returns the files in a directory, sorted. A directory that does not exist has none.
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: io::Error| unusable(directory, &error);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            files.push(entry.path());
        }
        if files.len() > MAX_FILES {
            return Err(format!("`{}` has more than {MAX_FILES} files", directory.display()));
        }
    }
    files.sort();
    Ok(files)
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

fn name_of(object: &Value) -> Option<&str> {
    text(object.get("metadata")?, "name")
}

fn namespace_of(object: &Value) -> Option<&str> {
    text(object.get("metadata")?, "namespace")
}

/// Returns the resource of a kind. Its name is the plural by which Kubernetes and generators of
/// custom resources name it.
fn resource(api_version: &str, kind: &str) -> Result<Resource, String> {
    if api_version.is_empty() || kind.is_empty() {
        return Err("expected an object or a list with `apiVersion` and `kind`".to_owned());
    }
    let singular = kind.to_lowercase();
    let plural = match singular.as_bytes() {
        _ if singular == "endpoints" => singular,
        [.., b's' | b'x'] | [.., b'c' | b's', b'h'] => format!("{singular}es"),
        [.., vowel, b'y'] if !b"aeiou".contains(vowel) => format!("{}ies", singular.trim_end_matches('y')),
        _ => format!("{singular}s"),
    };
    Ok((api_version.to_owned(), plural))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recordings(documents: impl IntoIterator<Item = Value>) -> Result<Recordings, String> {
        let right = json!({"kubernetes": [
            {"api-version": "v1", "resources": ["pods", "nodes", "secrets"]},
            {"api-version": "networking.k8s.io/v1", "resources": ["ingresses", "networkpolicies"]},
        ]});
        let rights = serde_json::from_value(right).unwrap();
        let mut all = Recordings { rights, resources: BTreeMap::new(), unrecorded: Unrecorded::default() };
        documents.into_iter().try_for_each(|document| all.add(document))?;
        Ok(all)
    }

    fn query(api_version: &str, resource: &str) -> ObjectQuery {
        ObjectQuery { api_version: api_version.to_owned(), resource: resource.to_owned(), ..ObjectQuery::default() }
    }

    fn pod(namespace: &str, name: &str) -> Value {
        let metadata = json!({"namespace": namespace, "name": name, "labels": {"app": name}});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"}})
    }

    #[test]
    fn lists_and_objects_are_found_by_their_resource() {
        let network = "networking.k8s.io/v1";
        let mut all = recordings([
            json!({"apiVersion": "v1", "kind": "List", "items": [pod("a", "x"), pod("b", "y")]}),
            json!({"apiVersion": network, "kind": "IngressList", "items": [{"metadata": {"namespace": "a", "name": "i"}}]}),
            json!({"apiVersion": network, "kind": "NetworkPolicyList", "items": []}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "aHVudGVyMg=="}}),
        ])
        .unwrap();
        let mut count = |query: &ObjectQuery| all.list(query, None).unwrap().objects.len();
        assert_eq!(count(&query("v1", "pods")), 2);
        assert_eq!(count(&query(network, "ingresses")), 1);
        assert_eq!(count(&query(network, "networkpolicies")), 0);
        let of_x =
            ObjectQuery { namespace: Some("a".to_owned()), label_selector: "app=x".to_owned(), ..query("v1", "pods") };
        assert_eq!(count(&of_x), 1);
        assert_eq!(count(&ObjectQuery { field_selector: "spec.nodeName!=n1".to_owned(), ..query("v1", "pods") }), 0);
        assert!(all.get(&of_x, "x").unwrap().is_some() && all.get(&of_x, "y").unwrap().is_none());
        let secret = all.get(&query("v1", "secrets"), "s").unwrap().unwrap();
        assert!(secret.contains("REDACTED") && !secret.contains("aHVudGVyMg"), "{secret}");
        assert!(all.unrecorded.sentences().is_empty());
    }

    #[test]
    fn a_missing_recording_is_an_error() {
        let mut all = recordings([]).unwrap();
        assert!(all.list(&query("v1", "nodes"), None).is_err() && all.get(&query("v1", "nodes"), "n").is_err());
        assert_eq!(all.unrecorded.sentences(), ["the case has no recording of `nodes` (v1) in `objects/`"]);
        // A missing right is the error that a run gives.
        let error = all.list(&query("v1", "configmaps"), None).unwrap_err();
        assert!(error.contains("is not granted"), "{error}");
        assert_eq!(all.unrecorded.sentences().len(), 1);
        let empty = recordings([json!({"apiVersion": "v1", "kind": "List", "items": []})]).err().unwrap();
        assert!(empty.contains("kind: NodeList"), "{empty}");
        for bad in [json!({"kind": "Pod"}), json!([]), json!({"apiVersion": "v1", "kind": "PodList", "items": 3})] {
            assert!(recordings([bad.clone()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn long_lists_have_pages() {
        let mut all = recordings((0..=PAGE).map(|n| pod("a", &n.to_string()))).unwrap();
        let first = all.list(&query("v1", "pods"), None).unwrap();
        assert_eq!((first.objects.len(), first.next.as_deref()), (PAGE, Some("500")));
        let second = all.list(&query("v1", "pods"), Some("500")).unwrap();
        assert_eq!((second.objects.len(), second.next), (1, None));
        assert!(all.list(&query("v1", "pods"), Some("x")).is_err());
    }
}

//! Label and field selectors.

use plumbline_core::Selector;

use crate::api::{answer::Failure, request::Query, resources::Resource};

/// The selectable fields of each resource, in addition to name and namespace.
const FIELDS: [(&str, &[&str]); 4] = [
    (
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
        ],
    ),
    ("nodes", &["spec.unschedulable"]),
    ("secrets", &["type"]),
    (
        "events",
        &[
            "involvedObject.apiVersion",
            "involvedObject.fieldPath",
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.resourceVersion",
            "involvedObject.uid",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
];

/// Returns the label selector and the field selector of a request.
pub(crate) fn selector(query: &Query, resource: &Resource) -> Result<Selector, Failure> {
    let text = |name: &str| query.get(name).unwrap_or_default();
    let parsed = Selector::parse(text("labelSelector"), text("fieldSelector"));
    let selector = parsed.map_err(|error| Failure::bad_request(error.to_string()))?;
    let id = resource.id();
    let known: &[&str] = FIELDS.iter().find(|(name, _)| *name == id).map(|(_, fields)| *fields).unwrap_or_default();
    let is_known = |path: &str| matches!(path, "metadata.name" | "metadata.namespace") || known.contains(&path);
    if let Some(path) = selector.field_paths().find(|path| !is_known(path)) {
        return Err(Failure::bad_request(format!("field label not supported: {path}")));
    }
    Ok(selector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::resources::Resources;

    #[test]
    fn unknown_fields_and_wrong_terms_are_bad_requests() {
        let resources = Resources::usual();
        let refused = |query: &str| selector(&Query::parse(query), resources.named("pods").unwrap());
        assert!(refused("fieldSelector=spec.nodeName=n1&labelSelector=a in (b)").is_ok());
        for bad in ["fieldSelector=spec.x=1", "labelSelector=a in b)"] {
            assert_eq!(refused(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}

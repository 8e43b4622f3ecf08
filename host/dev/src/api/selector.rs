//! Label and field selectors.

use serde_json::Value;

use crate::api::{answer::Failure, request::Query, resources::Resource};

/// The selectable fields of each resource, besides name and namespace.
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

/// A label selector and a field selector. An object must satisfy every term of both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<Term>,
    fields: Vec<Term>,
}

#[derive(Debug, Clone)]
struct Term {
    key: String,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Selector {
    pub(crate) fn of(query: &Query, resource: &Resource) -> Result<Self, Failure> {
        let labels = query.get("labelSelector").map(labels).transpose()?.unwrap_or_default();
        let fields = query.get("fieldSelector").map(|text| fields(text, resource)).transpose()?.unwrap_or_default();
        Ok(Self { labels, fields })
    }

    /// Returns whether the selector matches every object.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str).map(str::to_owned);
        // A missing field counts as empty, as in a real server.
        let field = |path: &str| {
            let pointer = format!("/{}", path.replace('.', "/"));
            Some(match object.pointer(&pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                _ if path == "spec.unschedulable" => "false".to_owned(),
                _ => String::new(),
            })
        };
        self.labels.iter().all(|term| term.rule.admits(label(&term.key).as_deref()))
            && self.fields.iter().all(|term| term.rule.admits(field(&term.key).as_deref()))
    }
}

impl Rule {
    fn admits(&self, value: Option<&str>) -> bool {
        let among = |values: &[String]| value.is_some_and(|value| values.iter().any(|v| v == value));
        match self {
            Self::In(values) => among(values),
            Self::NotIn(values) => !among(values),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
        }
    }
}

fn labels(text: &str) -> Result<Vec<Term>, Failure> {
    let bad = || Failure::bad_request(format!("unable to parse the label selector {text:?}"));
    let mut terms = Vec::new();
    for part in split_outside_parentheses(text) {
        let part = part.trim();
        let (key, rule) = if let Some((head, list)) = part.split_once('(') {
            let list = list.trim_end().strip_suffix(')').ok_or_else(bad)?;
            let values = list.split(',').map(|value| value.trim().to_owned()).collect();
            match head.split_whitespace().collect::<Vec<_>>().as_slice() {
                [key, "in"] => ((*key).to_owned(), Rule::In(values)),
                [key, "notin"] => ((*key).to_owned(), Rule::NotIn(values)),
                _ => return Err(bad()),
            }
        } else if let Some((key, equal, value)) = comparison(part) {
            (key, if equal { Rule::In(vec![value]) } else { Rule::NotIn(vec![value]) })
        } else if let Some(key) = part.strip_prefix('!') {
            (key.trim().to_owned(), Rule::Absent)
        } else {
            (part.to_owned(), Rule::Exists)
        };
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(bad());
        }
        terms.push(Term { key, rule });
    }
    Ok(terms)
}

fn fields(text: &str, resource: &Resource) -> Result<Vec<Term>, Failure> {
    let id = resource.id();
    let known: &[&str] = FIELDS.iter().find(|(name, _)| *name == id).map(|(_, fields)| *fields).unwrap_or_default();
    let mut terms = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (key, equal, value) = comparison(part)
            .ok_or_else(|| Failure::bad_request(format!("invalid field selector: {part:?}: no comparison")))?;
        if !matches!(key.as_str(), "metadata.name" | "metadata.namespace") && !known.contains(&key.as_str()) {
            return Err(Failure::bad_request(format!("field label not supported: {key}")));
        }
        terms.push(Term { key, rule: if equal { Rule::In(vec![value]) } else { Rule::NotIn(vec![value]) } });
    }
    Ok(terms)
}

/// Parses `a=b`, `a==b` or `a!=b` into the key, whether it must be equal, and the value.
fn comparison(part: &str) -> Option<(String, bool, String)> {
    let (key, value) = part.split_once('=')?;
    let value = value.strip_prefix('=').unwrap_or(value).trim().to_owned();
    Some(match key.strip_suffix('!') {
        Some(key) => (key.trim().to_owned(), false, value),
        None => (key.trim().to_owned(), true, value),
    })
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let between = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(between).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::resources::Resources;

    fn matches(query: &str) -> bool {
        let resources = Resources::usual();
        let object = json!({
            "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web", "tier": ""}},
            "spec": {"nodeName": "n1"}
        });
        Selector::of(&Query::parse(query), resources.named("pods").unwrap()).unwrap().matches(&object)
    }

    #[test]
    fn every_form_of_a_label_selector_is_understood() {
        for yes in
            ["app=web", "app==web", "app!=db", "app in (db, web)", "app notin (db),app", "!gone", "tier", "tier="]
        {
            assert!(matches(&format!("labelSelector={yes}")), "{yes}");
        }
        for no in ["app=db", "app!=web", "app notin (db,web)", "app in (db)", "gone", "!app", "app=web,gone"] {
            assert!(!matches(&format!("labelSelector={no}")), "{no}");
        }
        // An object without the label also matches.
        assert!(matches("labelSelector=gone!=x"));
    }

    #[test]
    fn fields_are_compared_and_unknown_ones_refused() {
        assert!(matches("fieldSelector=spec.nodeName=n1,metadata.namespace!=other"));
        assert!(!matches("fieldSelector=status.phase=Running"));
        assert!(matches("fieldSelector=status.phase!=Running"));
        let resources = Resources::usual();
        let refused = Selector::of(&Query::parse("fieldSelector=spec.x=1"), resources.named("pods").unwrap());
        assert_eq!(refused.unwrap_err().code, 400);
        let refused = Selector::of(&Query::parse("labelSelector=a in b)"), resources.named("pods").unwrap());
        assert_eq!(refused.unwrap_err().code, 400);
    }
}

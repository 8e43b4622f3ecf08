//! Label and field selectors of the Kubernetes API.

use serde_json::Value;

use crate::text::Printable;

/// A label selector and a field selector. An object must satisfy every term of both.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    labels: Vec<Term>,
    fields: Vec<Term>,
}

/// Error in the text of a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A term of the label selector has no known form.
    #[error("invalid term in the label selector: `{0}`")]
    Label(Printable),
    /// A term of the field selector is not a comparison.
    #[error("invalid term in the field selector: `{0}`: expected `FIELD=VALUE` or `FIELD!=VALUE`")]
    Field(Printable),
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
    /// Parses the texts of both selectors. An empty text selects every object.
    pub fn parse(labels: &str, fields: &str) -> Result<Self, SelectorError> {
        let labels = if labels.trim().is_empty() { Vec::new() } else { parse_labels(labels)? };
        Ok(Self { labels, fields: parse_fields(fields)? })
    }

    /// Returns whether the selector matches every object.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns the paths of the field selector, such as `spec.nodeName`.
    pub fn field_paths(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|term| term.key.as_str())
    }

    /// Returns whether `object` satisfies every term.
    pub fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        self.labels.iter().all(|term| term.rule.admits(label(&term.key)))
            && self.fields.iter().all(|term| term.rule.admits(Some(&field(object, &term.key))))
    }
}

/// Returns the value of a field. A missing field counts as empty, as in a real server.
fn field(object: &Value, path: &str) -> String {
    match object.pointer(&format!("/{}", path.replace('.', "/"))) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        _ if path == "spec.unschedulable" => "false".to_owned(),
        _ => String::new(),
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

fn parse_labels(text: &str) -> Result<Vec<Term>, SelectorError> {
    let mut terms = Vec::new();
    for part in split_outside_parentheses(text) {
        let part = part.trim();
        let bad = || SelectorError::Label(Printable::escaped(part, 100));
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

fn parse_fields(text: &str) -> Result<Vec<Term>, SelectorError> {
    let mut terms = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (key, equal, value) =
            comparison(part).ok_or_else(|| SelectorError::Field(Printable::escaped(part, 100)))?;
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

    fn matches(labels: &str, fields: &str) -> bool {
        let object = json!({
            "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web", "tier": ""}},
            "spec": {"nodeName": "n1"}
        });
        Selector::parse(labels, fields).unwrap().matches(&object)
    }

    #[test]
    fn every_form_of_a_label_selector_is_understood() {
        for yes in
            ["", "app=web", "app==web", "app!=db", "app in (db, web)", "app notin (db),app", "!gone", "tier", "tier="]
        {
            assert!(matches(yes, ""), "{yes}");
        }
        for no in ["app=db", "app!=web", "app notin (db,web)", "app in (db)", "gone", "!app", "app=web,gone"] {
            assert!(!matches(no, ""), "{no}");
        }
        // An object without the label also matches.
        assert!(matches("gone!=x", ""));
        assert_eq!(Selector::parse("a in b)", "").unwrap_err(), SelectorError::Label("a in b)".into()));
    }

    #[test]
    fn fields_are_compared_and_missing_ones_are_empty() {
        assert!(matches("", "spec.nodeName=n1,metadata.namespace!=other"));
        assert!(!matches("", "status.phase=Running"));
        assert!(matches("", "status.phase!=Running"));
        assert!(matches!(Selector::parse("", "spec.nodeName"), Err(SelectorError::Field(_))));
    }
}

//! `PRODUCT.yaml`: what the vendor states about each requirement.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::checklist::{Checklist, Level, Requirement};

/// The name of the file in a submission.
pub(crate) const PRODUCT: &str = "PRODUCT.yaml";

/// The keys of `metadata`, and whether a submission needs them. They may be in snake case.
const METADATA: [(&str, bool); 11] = [
    ("kubernetesVersion", true),
    ("platformName", true),
    ("platformVersion", true),
    ("vendorName", true),
    ("websiteUrl", true),
    ("repoUrl", false),
    ("documentationUrl", true),
    ("productLogoUrl", true),
    ("description", true),
    ("contactEmailAddress", true),
    ("k8sConformanceUrl", true),
];

/// What the vendor says about a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stated {
    Nothing,
    Implemented,
    PartiallyImplemented,
    NotImplemented,
    NotApplicable,
}

impl Stated {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Implemented => "Implemented",
            Self::PartiallyImplemented => "Partially Implemented",
            Self::NotImplemented => "Not Implemented",
            Self::NotApplicable => "N/A",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let all =
            [Self::Nothing, Self::Implemented, Self::PartiallyImplemented, Self::NotImplemented, Self::NotApplicable];
        all.into_iter().find(|stated| stated.as_str() == text)
    }
}

impl std::fmt::Display for Stated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The statement about one requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) stated: Stated,
    pub(crate) evidence: Vec<String>,
    pub(crate) notes: String,
}

/// The statements, and what is wrong with the form of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Product {
    /// The version of Kubernetes that the file names.
    pub(crate) version: String,
    /// The statements by requirement. A statement of the wrong form is not among them.
    pub(crate) statements: BTreeMap<String, Statement>,
    pub(crate) problems: Vec<String>,
}

impl Product {
    pub(crate) fn read(text: &str, checklist: &Checklist) -> Self {
        let mut product = Self::default();
        let document = match serde_saphyr::from_str::<Value>(text) {
            Ok(Value::Object(document)) => document,
            Ok(_) => return product.with_problem("the file has no mapping".to_owned()),
            Err(error) => {
                let error = error.without_snippet().to_string();
                return product.with_problem(format!("the file is not valid YAML: {}", one_line(&error)));
            }
        };
        product.read_metadata(&document);
        product.read_spec(&document, checklist);
        product
    }

    fn with_problem(mut self, problem: String) -> Self {
        self.problems.push(problem);
        self
    }

    fn read_metadata(&mut self, document: &Map<String, Value>) {
        let Some(metadata) = document.get("metadata").and_then(Value::as_object) else {
            return self.problems.push("`metadata` is missing".to_owned());
        };
        for (key, required) in METADATA {
            let value = metadata.get(key).or_else(|| metadata.get(&snake_case(key)));
            let text = match value {
                None | Some(Value::Null) => "",
                Some(Value::String(text)) => text.trim(),
                Some(_) => {
                    self.problems.push(format!("`metadata.{key}` is not text: put it in quotes"));
                    continue;
                }
            };
            if key == "kubernetesVersion" {
                text.clone_into(&mut self.version);
            }
            if text.is_empty() {
                if required {
                    self.problems.push(format!("`metadata.{key}` is missing"));
                }
            } else if text.starts_with('[') && text.ends_with(']') {
                self.problems.push(format!("`metadata.{key}` has the placeholder `{text}`"));
            } else if key == "k8sConformanceUrl" && !is_conformance_url(text) {
                self.problems.push(format!(
                    "`metadata.{key}` is not the URL of a submission in `https://github.com/cncf/k8s-conformance/tree/master/`"
                ));
            }
        }
    }

    fn read_spec(&mut self, document: &Map<String, Value>, checklist: &Checklist) {
        let Some(spec) = document.get("spec").and_then(Value::as_object) else {
            return self.problems.push("`spec` is missing".to_owned());
        };
        let mut seen = BTreeMap::<String, u32>::new();
        for (category, entries) in spec {
            let Some(entries) = entries.as_array() else {
                self.problems.push(format!("`spec.{category}` is not a list"));
                continue;
            };
            for entry in entries {
                let id = text(entry, "id");
                let found = checklist.requirements().find(|(of, _)| of.id == id && of.category == category);
                let Some((requirement, level)) = found else {
                    self.problems.push(format!("the checklist has no requirement `{id}` in `spec.{category}`"));
                    continue;
                };
                *seen.entry(id.to_owned()).or_default() += 1;
                self.read_requirement(entry, requirement, level);
            }
        }
        for (requirement, _) in checklist.requirements().filter(|(of, _)| !seen.contains_key(of.id)) {
            self.problems
                .push(format!("requirement `{}` of `spec.{}` is missing", requirement.id, requirement.category));
        }
        // A statement that occurs twice counts for nothing.
        for (id, _) in seen.iter().filter(|(_, times)| **times > 1) {
            self.problems.push(format!("requirement `{id}` is listed twice"));
            self.statements.remove(id);
        }
    }

    fn read_requirement(&mut self, entry: &Value, requirement: &Requirement, level: Level) {
        let id = requirement.id;
        let before = self.problems.len();
        if text(entry, "level") != level.to_string() {
            self.problems.push(format!("the level of `{id}` is not `{level}`, as in the checklist"));
        }
        let Some(stated) = Stated::parse(text(entry, "status")) else {
            return self.problems.push(format!("unknown status `{}` of `{id}`", text(entry, "status")));
        };
        let Some(evidence) = texts(entry.get("evidence")) else {
            return self.problems.push(format!("the evidence of `{id}` is not a list of texts"));
        };
        let notes = text(entry, "notes").to_owned();
        let must = level == Level::Must;
        match stated {
            Stated::Nothing if must => self.problems.push(format!("`{id}` is a MUST, and has no status")),
            Stated::Implemented if must && evidence.is_empty() => {
                self.problems.push(format!("`{id}` is a MUST, and has no evidence"));
            }
            Stated::NotApplicable if must && !requirement.conditional => {
                self.problems.push(format!("`{id}` is a MUST that may not be `N/A`"));
            }
            Stated::NotApplicable if notes.is_empty() => {
                self.problems.push(format!("`{id}` is `N/A` without a reason in `notes`"));
            }
            Stated::PartiallyImplemented | Stated::NotImplemented if must => {
                self.problems.push(format!("`{id}` is a MUST, and its status is `{stated}`"));
            }
            _ => {}
        }
        // A statement against the vendor counts, whatever its form is.
        let against = matches!(stated, Stated::PartiallyImplemented | Stated::NotImplemented);
        if against || self.problems.len() == before {
            self.statements.insert(id.to_owned(), Statement { stated, evidence, notes });
        }
    }
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default()
}

/// Returns a list of texts without empty ones.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(entries)) => {
            let all: Option<Vec<&str>> = entries.iter().map(|entry| entry.as_str().map(str::trim)).collect();
            Some(all?.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect())
        }
        Some(_) => None,
    }
}

/// Converts `k8sConformanceUrl` to `k8s_conformance_url`.
fn snake_case(camel: &str) -> String {
    let mut snake = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// Returns whether `url` names the product's submission of Kubernetes conformance.
fn is_conformance_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://github.com/cncf/k8s-conformance/tree/").map(|rest| rest.trim_end_matches('/'));
    let parts: Vec<&str> = rest.unwrap_or_default().split('/').collect();
    matches!(parts.as_slice(), ["master" | "main", version, product]
        if version.starts_with("v1.") && !product.is_empty())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;

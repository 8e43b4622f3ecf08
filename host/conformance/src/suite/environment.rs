//! Interpretation of environment variables by the suite's image.

use plumbline_core::definition::{Definition, EnvValue};

/// Default focus of the image.
pub const DEFAULT_FOCUS: &str = r"\[Conformance\]";

/// Default skip of the image for parallel runs.
pub(crate) const PARALLEL_SKIP: &str = r"\[Serial\]";

/// Tests that the suite's image will run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Expression of the tests to run.
    pub focus: String,
    /// Expression of the tests to skip.
    pub skip: Option<String>,
}

/// Returns the tests that the image will run with the environment of `definition`. `None` if the
/// value of a variable is only known in the cluster.
#[must_use]
pub fn chosen(definition: &Definition) -> Option<Chosen> {
    let focus = variable(definition, "E2E_FOCUS")?.filter(|text| !text.is_empty());
    let skip = variable(definition, "E2E_SKIP")?.filter(|text| !text.is_empty());
    let parallel = matches!(variable(definition, "E2E_PARALLEL")?, Some("y" | "Y" | "true"));
    Some(Chosen {
        focus: focus.unwrap_or(DEFAULT_FOCUS).to_owned(),
        skip: skip.or(parallel.then_some(PARALLEL_SKIP)).map(str::to_owned),
    })
}

/// Returns the value of a variable, if it is set. The outer `None` means that the value is only
/// known in the cluster. Of duplicates, the last one applies.
fn variable<'a>(definition: &'a Definition, name: &str) -> Option<Option<&'a str>> {
    match definition.spec.env().iter().rfind(|variable| variable.name == name).map(|variable| &variable.value) {
        None => Some(None),
        Some(EnvValue::Text(text)) => Some(Some(text)),
        Some(EnvValue::From(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(env: Value) -> Option<Chosen> {
        let json =
            json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "e2e"}, "spec": {"image": "i", "env": env}});
        chosen(&Definition::from_json(json).unwrap().definition)
    }

    #[test]
    fn it_is_what_the_image_does_with_it() {
        let chosen =
            |focus: &str, skip: Option<&str>| Some(Chosen { focus: focus.to_owned(), skip: skip.map(str::to_owned) });
        assert_eq!(of(json!([])), chosen(r"\[Conformance\]", None));
        let parallel = json!([{"name": "E2E_PARALLEL", "value": "y"}, {"name": "E2E_FOCUS", "value": "a"}]);
        assert_eq!(of(parallel), chosen("a", Some(r"\[Serial\]")));
        let both = json!([{"name": "E2E_PARALLEL", "value": "true"}, {"name": "E2E_SKIP", "value": "b"}]);
        assert_eq!(of(both), chosen(r"\[Conformance\]", Some("b")));
        let untold = json!([{"name": "E2E_FOCUS", "valueFrom": {"configMapKeyRef": {"name": "n", "key": "k"}}}]);
        assert_eq!(of(untold), None);
    }
}

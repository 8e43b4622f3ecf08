//! The rules for the definitions of one run together.

use std::collections::BTreeMap;

use crate::definition::error::DefinitionError;
use crate::definition::model::Definition;
use crate::name::PluginName;

/// Checks that the definitions can be in one run: names are unique, the API server accepts their
/// permissions, and reruns come after the plugin that they rerun.
///
/// # Errors
///
/// Returns [`DefinitionError::DuplicatePlugin`] with the first duplicate name,
/// [`DefinitionError::Reruns`], or [`DefinitionError::Invalid`] with the first invalid rule.
pub fn check_set<'a>(definitions: impl IntoIterator<Item = &'a Definition>) -> Result<(), DefinitionError> {
    let mut by_name = BTreeMap::new();
    for definition in definitions {
        definition.plumbline.permissions.check()?;
        if by_name.insert(&definition.name, definition).is_some() {
            return Err(DefinitionError::DuplicatePlugin(definition.name.clone()));
        }
    }
    by_name.values().try_for_each(|definition| check_reruns(definition, &by_name))
}

fn check_reruns(definition: &Definition, all: &BTreeMap<&PluginName, &Definition>) -> Result<(), DefinitionError> {
    let Some(reruns) = &definition.plumbline.reruns else { return Ok(()) };
    let refused =
        |why| Err(DefinitionError::Reruns { plugin: definition.name.clone(), other: reruns.plugin.clone(), why });
    match all.get(&reruns.plugin) {
        None => refused("there is no plugin of that name in this run: name both with `--plugin`"),
        Some(other) if other.order >= definition.order => {
            refused("it must come first: give it a lower `sonobuoy-config.order`")
        }
        // The name of a failed test does not include its node.
        Some(other) if other.driver.is_per_node() || definition.driver.is_per_node() => {
            refused("both must run once for the whole cluster or machine: use the driver `Job` or `Process`")
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plugin(name: &str, driver: &str, order: i32, reruns: Option<&str>) -> Definition {
        let own =
            reruns.map(|other| json!({"reruns": {"plugin": other, "focus": "FOCUS"}})).unwrap_or_else(|| json!({}));
        let config = json!({"driver": driver, "plugin-name": name, "order": order});
        Definition::from_json(json!({"sonobuoy-config": config, "spec": {}, "plumbline": own})).unwrap().definition
    }

    #[test]
    fn a_rerun_comes_after_what_it_runs_again() {
        let e2e = plugin("e2e", "Job", 0, None);
        let chain = [plugin("b", "Job", 2, Some("a")), e2e.clone(), plugin("a", "Job", 1, Some("e2e"))];
        assert_eq!(check_set(&chain), Ok(()));
        let wrong = [
            plugin("a", "Job", 1, Some("nobody")),
            plugin("a", "Job", 0, Some("e2e")),
            plugin("a", "Job", 1, Some("a")),
            plugin("a", "DaemonSet", 1, Some("e2e")),
        ];
        let errors = wrong.map(|wrong| check_set(&[e2e.clone(), wrong]).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"));
        let nodes = [plugin("n", "DaemonSet", 0, None), plugin("a", "Job", 1, Some("n"))];
        assert!(check_set(&nodes).is_err());
    }
}

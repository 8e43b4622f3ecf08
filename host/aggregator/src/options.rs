//! A plugin's options, checked before anything runs.

use plumbline_core::definition::Definition;
use plumbline_sandbox::{ModuleInfo, check_options};

use crate::plan::PlanError;

/// Holds the definition's options against the schemas of its modules. What comes back are warnings: schemas that cannot be used.
///
/// # Errors
/// [`PlanError::Options`] when a module does not take them.
pub(crate) fn check(definition: &Definition, modules: &[&ModuleInfo]) -> Result<Vec<String>, PlanError> {
    let mut seen: Vec<String> = Vec::new();
    let mut schemas: Vec<(&str, &serde_json::Value)> = Vec::new();
    for info in modules {
        let Some(schema) = &info.schema else { continue };
        // One module in two roles is asked once.
        if !seen.contains(&info.digest) {
            seen.push(info.digest.clone());
            schemas.push((info.name.as_deref().unwrap_or_default(), schema));
        }
    }
    let checked = check_options(&definition.plumbline.options, &schemas);
    if checked.problems.is_empty() {
        return Ok(checked.warnings);
    }
    Err(PlanError::Options { plugin: definition.name.clone(), problems: checked.problems })
}

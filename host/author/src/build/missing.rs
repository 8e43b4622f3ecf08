//! Whether this machine can build a project.

use std::path::Path;

use super::tool::{CARGO, COMPONENTIZE_PY, GO, JCO, Tool};
use crate::project::Language;

/// Why a project in `language` cannot be built on this machine: the tool that is missing. `None`: nothing is known to be missing. Nothing is
/// installed and nothing run to find out, so a build may still fail.
#[must_use]
pub fn missing_tool(language: Language, project: &Path) -> Option<String> {
    let missing =
        |tool: Tool| tool.look(project).is_none().then(|| format!("`{}` is not there: {}", tool.name, tool.hint));
    match language {
        Language::Rust => missing(CARGO).or_else(|| super::rust::missing_target(project)),
        Language::Go => missing(GO),
        Language::JavaScript | Language::TypeScript => {
            missing(JCO).or_else(|| missing(super::javascript::esbuild_for(project)))
        }
        Language::Python => missing(COMPONENTIZE_PY),
        Language::C => super::c::missing_compiler(project),
    }
}

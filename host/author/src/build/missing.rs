//! Detects tools that are missing on this machine.

use std::path::Path;

use super::tool::{CARGO, COMPONENTIZE_PY, GO, JCO, Tool};
use crate::project::Language;

/// Returns why a project in `language` cannot be built on this machine: the tool that is missing.
///
/// `None` means that no tool is known to be missing. The check installs nothing and runs no build,
/// so a build may still fail.
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

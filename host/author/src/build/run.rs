//! The build of a project.

use std::fs;
use std::time::Instant;

use plumbline_sandbox::Sandbox;

use super::finish::{Built, finish};
use super::step::Say;
use super::{c, go, javascript, own, python, rust};
use crate::project::{AuthorError, Language, Project, Sources};

/// Builds the module of `project`: runs the build of its language, makes a component, writes into it what `module.yaml` says, checks it as a
/// host does, and puts it into the place of the old one. `sandbox` is the host that checks; where it has a cache, the compiled code is kept
/// in it.
///
/// `say` is told a line before each command that is run. What the tools print goes to standard error as it comes. Until everything is well,
/// the old module stays.
///
/// # Errors
/// When a tool is missing or fails, or what it made is no module.
pub fn build(project: &Project, sandbox: &Sandbox, say: Say<'_>) -> Result<Built, AuthorError> {
    let begin = Instant::now();
    let sources = Sources::of(project)?;
    let directory = project.build_directory();
    fs::create_dir_all(&directory).map_err(AuthorError::io("create", &directory))?;
    let artifact = if project.manifest.command.is_empty() {
        match project.manifest.language {
            Language::Rust => rust::build(project, say),
            Language::Go => go::build(project, say),
            Language::JavaScript => javascript::build(project, "src/index.js", say),
            Language::TypeScript => javascript::build(project, "src/index.ts", say),
            Language::Python => python::build(project, say),
            Language::C => c::build(project, say),
        }
    } else {
        own::build(project, say)
    }?;
    let built = finish(project, &artifact, sandbox, begin)?;
    sources.record(project, &built.digest)?;
    Ok(built)
}

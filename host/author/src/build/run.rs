//! The build of a project.

use std::fs;
use std::time::Instant;

use plumbline_sandbox::Sandbox;

use super::finish::{Built, finish};
use super::step::Say;
use super::{c, go, javascript, own, python, rust};
use crate::project::{AuthorError, Language, Project, Sources};

/// Builds the module of `project`, checks it as a host does, and replaces the old module.
///
/// It runs the build of the project's language, makes a component, and adds the metadata of
/// `module.yaml`. `sandbox` is the host that checks the module. If it has a cache, the compiled
/// code is kept there.
///
/// `say` receives one line before each command that is run. The output of tools goes to standard
/// error as it arrives. The old module stays until everything has succeeded.
///
/// # Errors
/// A tool is missing or fails, or its output is not a valid module.
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

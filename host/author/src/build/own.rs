//! The author's own build command.

use std::path::PathBuf;
use std::process::Command;

use super::step::{Say, run};
use crate::project::{AuthorError, Project};

pub(super) fn build(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let manifest = &project.manifest;
    let (Some((program, arguments)), Some(artifact)) = (manifest.command.split_first(), &manifest.artifact) else {
        return Err(AuthorError::input("`command` and `artifact` of `module.yaml` belong together"));
    };
    // A path with a slash is relative to the project. A bare name is looked up on the path.
    let program = if program.contains('/') { project.directory.join(program) } else { PathBuf::from(program) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&project.directory);
    run(&mut command, say, "it is `command` in `module.yaml`, and runs in the project's directory")?;
    Ok(project.directory.join(artifact))
}

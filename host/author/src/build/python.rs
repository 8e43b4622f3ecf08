//! The build of Python modules: the interpreter and the sources in one component.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::step::{Say, run};
use super::tool::{COMPONENTIZE_PY, PYTHON};
use super::{artifact, contract};
use crate::project::{AuthorError, Project};

/// The Python module in the project's directory that implements the role.
const APP: &str = "app";
/// The file with the project's build requirements, for pip.
const REQUIREMENTS: &str = "requirements-dev.txt";

pub(super) fn build(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let directory = &project.directory;
    let component = project.build_directory().join(format!("{}.component.wasm", project.name()));
    artifact::clear(&component)?;
    let tool = match COMPONENTIZE_PY.look(directory) {
        Some(tool) => tool,
        None => install(directory, say)?,
    };
    let mut command = Command::new(tool);
    // Packages in the user's environment would become part of the module.
    command.current_dir(directory).env_remove("VIRTUAL_ENV").env_remove("PYTHONPATH");
    command.args(["--quiet", "-d"]).arg(contract::directory(project)?).args(["-w", project.world()]);
    // Without the stub, the component would import sockets, and the host would reject it.
    command.args(["componentize", "--stub-wasi", "-p", ".", "-p"]).arg(project.sdk());
    command.arg("-o").arg(&component).arg(APP);
    run(&mut command, say, "the module is `app.py` of the project; what it imports must be pure Python")?;
    Ok(component)
}

/// Creates a virtual environment in the project, with the version of componentize-py that it
/// requires.
fn install(directory: &Path, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    if !directory.join(REQUIREMENTS).is_file() {
        return COMPONENTIZE_PY.find(directory);
    }
    let venv = directory.join(".venv");
    let mut python = Command::new(PYTHON.find(directory)?);
    python.current_dir(directory).args(["-m", "venv"]).arg(&venv);
    run(&mut python, say, "Debian: `apt-get install python3-venv`")?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.current_dir(directory).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        REQUIREMENTS,
    ]);
    run(&mut pip, say, "pip must reach its index, or the tool be named: `PLUMBLINE_COMPONENTIZE_PY`")?;
    COMPONENTIZE_PY.find(directory)
}

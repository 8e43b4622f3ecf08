//! The build of JavaScript and TypeScript modules: bundled into one file, which an engine in the
//! component runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::step::{Say, run};
use super::tool::{ESBUILD, JCO, NPM, TSC, Tool};
use super::{artifact, contract};
use crate::project::{AuthorError, Project};

const HINT: &str = "the tools come with the project's `package.json`: `npm install`, then build again";

pub(super) fn build(project: &Project, entry: &str, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let directory = &project.directory;
    let name = project.name();
    let (bundle, component) = (
        project.build_directory().join(format!("{name}.js")),
        project.build_directory().join(format!("{name}.component.wasm")),
    );
    artifact::clear(&bundle)?;
    artifact::clear(&component)?;
    if !has_tools(directory) {
        install(directory, say)?;
    }
    if entry.ends_with(".ts") {
        check_types(directory, say)?;
    }
    let mut esbuild = Command::new(esbuild_of(directory)?);
    // The bundler strips types without checking them.
    esbuild.current_dir(directory).arg(entry);
    esbuild.args(["--bundle", "--format=esm", "--platform=neutral", "--target=es2023", "--conditions=plumbline"]);
    esbuild.args(["--external:plumbline:*", "--log-level=warning"]).arg(joined("--outfile=", &bundle));
    run(&mut esbuild, say, HINT)?;
    let mut jco = Command::new(JCO.find(directory)?);
    jco.current_dir(directory).arg("componentize").arg(&bundle).arg("--wit").arg(contract::directory(project)?);
    // Use the small engine, without WASI. The component model's own async is disabled, so that
    // hosts need not support it.
    jco.args(["--world-name", project.world(), "--backend", "qjs", "--backend-qjs-disable-async"]);
    jco.args(["--backend-qjs-stub-wasi", "--out"]).arg(&component);
    run(&mut jco, say, HINT)?;
    Ok(component)
}

/// Runs the project's type checker with its `tsconfig.json`. If one of them is missing, it prints a
/// warning that types are not checked.
fn check_types(directory: &Path, say: Say<'_>) -> Result<(), AuthorError> {
    let config = directory.join("tsconfig.json");
    let Some(tsc) = TSC.named().or_else(|| TSC.in_project(directory)).filter(|_| config.is_file()) else {
        say("warning: types are not checked: that takes a `tsconfig.json`, and `typescript` in `devDependencies`");
        return Ok(());
    };
    let mut command = Command::new(&tsc);
    command.current_dir(directory).args(["--noEmit", "--project", "."]);
    if TSC.named().is_some() {
        // A type checker outside of the project has its types next to it.
        command.arg("--typeRoots").arg(tsc.with_file_name("../@types"));
    }
    run(&mut command, say, "correct the types; `tsconfig.json` says how strict they are")
}

fn has_tools(directory: &Path) -> bool {
    let there = |tool: Tool| tool.named().is_some() || tool.in_project(directory).is_some();
    there(JCO) && (there(ESBUILD) || beside_jco().is_some())
}

/// Installs the tools that `package.json` lists into the project. Install scripts are disabled,
/// because no tool needs them.
fn install(directory: &Path, say: Say<'_>) -> Result<(), AuthorError> {
    let mut npm = Command::new(NPM.find(directory)?);
    // With a lock file, install exactly the versions in it.
    let locked = directory.join("package-lock.json").is_file();
    npm.current_dir(directory).arg(if locked { "ci" } else { "install" });
    npm.args(["--ignore-scripts", "--no-audit", "--no-fund"]);
    run(&mut npm, say, "npm must reach its registry, or the tools be named: `PLUMBLINE_JCO`, `PLUMBLINE_ESBUILD`")
}

fn esbuild_of(directory: &Path) -> Result<PathBuf, AuthorError> {
    if let Some(named) = ESBUILD.named() {
        return Ok(named);
    }
    beside_jco().map_or_else(|| ESBUILD.find(directory), Ok)
}

/// Returns the `esbuild` that is installed next to `jco`, if a variable names `jco`.
fn beside_jco() -> Option<PathBuf> {
    JCO.named().map(|jco| jco.with_file_name(ESBUILD.name)).filter(|esbuild| esbuild.is_file())
}

/// Returns the tool that must be present to bundle. If esbuild is next to jco, that is jco alone.
pub(super) fn esbuild_for(_project: &Path) -> Tool {
    if beside_jco().is_some() { JCO } else { ESBUILD }
}

fn joined(flag: &str, path: &Path) -> std::ffi::OsString {
    let mut joined = std::ffi::OsString::from(flag);
    joined.push(path);
    joined
}

//! Which program a definition's `spec.command` is on this machine.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_aggregator::DispatchError;
use plumbline_core::definition::Definition;

/// A program with its arguments, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalCommand {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) directory: PathBuf,
}

/// The command of `definition`, which came from `bundle` or from a single file (then it runs in `fallback_directory`).
pub(crate) fn resolve(
    definition: &Definition,
    bundle: Option<&Path>,
    fallback_directory: &Path,
) -> Result<LocalCommand, DispatchError> {
    let container = &definition.spec;
    let mut words = container.command().iter().chain(container.args());
    let Some(program) = words.next() else {
        return Err(DispatchError::new(format!(
            "plugin `{}` has no `spec.command`: its program is inside image `{}`, which a local run does not execute",
            definition.name,
            container.image().unwrap_or("(none)"),
        )));
    };
    let base = bundle.unwrap_or(fallback_directory);
    let directory = match container.working_dir() {
        Some(directory) => base.join(directory),
        None => base.to_owned(),
    };
    if !directory.is_dir() {
        return Err(DispatchError::new(format!(
            "plugin `{}`: its working directory `{}` is not on this machine",
            definition.name,
            directory.display()
        )));
    }
    let Some(found) = find(program, &directory) else {
        return Err(DispatchError::new(format!(
            "plugin `{}`: its command `{program}` cannot be run on this machine: there is no such program{}",
            definition.name,
            container.image().map(|image| format!(" (it may be inside image `{image}`)")).unwrap_or_default(),
        )));
    };
    Ok(LocalCommand { program: found, args: words.map(OsString::from).collect(), directory })
}

/// As a shell finds programs: with a slash relative to the directory, without one along `PATH`.
fn find(program: &str, directory: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(directory.join(program)).filter(|path| is_executable(path));
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(spec: &str) -> Definition {
        let yaml = format!("sonobuoy-config: {{driver: Process, plugin-name: p}}\nspec: {spec}\n");
        Definition::parse(&yaml).unwrap().definition
    }

    #[test]
    fn a_relative_program_is_found_in_the_bundle() {
        let bundle = tempfile::tempdir().unwrap();
        let script = bundle.path().join("check.sh");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let resolve =
            || resolve(&definition("{name: p, command: [./check.sh], args: [a]}"), Some(bundle.path()), Path::new("/"));
        assert!(resolve().unwrap_err().message.contains("./check.sh"), "not executable");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let command = resolve().unwrap();
        assert_eq!(command.directory, bundle.path());
        assert_eq!(command.args, ["a"]);
    }

    #[test]
    fn programs_along_path_and_missing_ones() {
        let sh = resolve(&definition("{name: p, command: [sh, -c, 'true']}"), None, Path::new("/")).unwrap();
        assert!(sh.program.is_absolute());
        let error =
            resolve(&definition("{name: p, image: x/y:1, command: [/run_e2e.sh]}"), None, Path::new("/")).unwrap_err();
        assert!(error.message.contains("/run_e2e.sh") && error.message.contains("x/y:1"), "{error}");
        let error = resolve(&definition("{name: p, image: x/y:1}"), None, Path::new("/")).unwrap_err();
        assert!(error.message.contains("no `spec.command`"), "{error}");
    }
}

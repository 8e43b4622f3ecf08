//! Finds the program of a definition's `spec.command` on this machine.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_aggregator::DispatchError;
use plumbline_core::definition::Definition;

/// A program with its arguments and working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalCommand {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) directory: PathBuf,
}

/// Resolves the command of `definition`.
///
/// Its `workingDir`, and a program with a slash in its name, are relative to `base`, the directory
/// of the definition. Without a `workingDir`, the command starts in `current`, where the user
/// started the run.
pub(crate) fn resolve(definition: &Definition, base: &Path, current: &Path) -> Result<LocalCommand, DispatchError> {
    let container = &definition.spec;
    let mut words = container.command().iter().chain(container.args());
    let Some(program) = words.next() else {
        return Err(DispatchError::new(format!(
            "plugin `{}` has no `spec.command`: its program is inside image `{}`, which a local run does not execute",
            definition.name,
            container.image().unwrap_or("(none)"),
        )));
    };
    let (base, directory) = match container.working_dir() {
        Some(directory) => (base.join(directory), base.join(directory)),
        None => (base.to_owned(), current.to_owned()),
    };
    if !directory.is_dir() {
        return Err(DispatchError::new(format!(
            "plugin `{}`: working directory `{}` does not exist on this machine",
            definition.name,
            directory.display()
        )));
    }
    let Some(found) = find(program, &base) else {
        let place = if program.contains('/') { base.display().to_string() } else { "$PATH".to_owned() };
        return Err(DispatchError::new(format!(
            "plugin `{}`: command `{program}` not found: no such program in {place}{}",
            definition.name,
            container.image().map(|image| format!(" (it may be inside image `{image}`)")).unwrap_or_default(),
        )));
    };
    Ok(LocalCommand { program: found, args: words.map(OsString::from).collect(), directory })
}

/// Looks up a program like a shell: relative to `directory` if its name has a slash, and in `PATH`
/// otherwise.
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

    fn script(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_relative_program_is_found_beside_the_definition_and_starts_where_the_user_is() {
        let (bundle, current) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let resolve =
            || resolve(&definition("{name: p, command: [./check.sh], args: [a]}"), bundle.path(), current.path());
        std::fs::write(bundle.path().join("check.sh"), "#!/bin/sh\n").unwrap();
        assert!(resolve().unwrap_err().message.contains("./check.sh"), "not executable");
        script(&bundle.path().join("check.sh"));
        let command = resolve().unwrap();
        assert_eq!(command.program, bundle.path().join("./check.sh"));
        assert_eq!(command.directory, current.path());
        assert_eq!(command.args, ["a"]);
    }

    #[test]
    fn a_working_directory_is_relative_to_the_definition() {
        let (bundle, current) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        script(&bundle.path().join("sub/check.sh"));
        let of = |directory: &str| {
            let spec = format!("{{name: p, command: [./check.sh], workingDir: {directory}}}");
            resolve(&definition(&spec), bundle.path(), current.path())
        };
        let command = of("sub").unwrap();
        assert_eq!(
            (command.program, command.directory),
            (bundle.path().join("sub/./check.sh"), bundle.path().join("sub"))
        );
        let absolute = bundle.path().join("sub");
        assert_eq!(of(absolute.to_str().unwrap()).unwrap().directory, absolute);
        let error = of("nowhere").unwrap_err().message;
        assert!(error.contains("nowhere` does not exist on this machine"), "{error}");
    }

    #[test]
    fn programs_along_path_and_missing_ones() {
        let of = |spec: &str| resolve(&definition(spec), Path::new("/"), Path::new("/"));
        assert!(of("{name: p, command: [sh, -c, 'true']}").unwrap().program.is_absolute());
        let error = of("{name: p, image: x/y:1, command: [/run_e2e.sh]}").unwrap_err();
        assert!(error.message.contains("/run_e2e.sh") && error.message.contains("x/y:1"), "{error}");
        let error = of("{name: p, image: x/y:1}").unwrap_err();
        assert!(error.message.contains("no `spec.command`"), "{error}");
    }
}

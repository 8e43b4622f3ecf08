//! What an execution starts: a program on this machine, its directories, and its environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_aggregator::{DispatchError, Launch};
use plumbline_archive::atomic::write_atomic;
use plumbline_core::definition::{Definition, EnvValue, PROGRESS_VARIABLE};
use plumbline_core::{CHECK_VARIABLE, CheckRun, PluginName, ResultKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The name of the record of the start directories in the working directory of a run.
const RECORD: &str = "start.json";

/// A program with its arguments and working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalCommand {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) directory: PathBuf,
}

/// Resolves the command of `definition`.
///
/// `workingDir`, and a program with a slash, are relative to `base`, the directory of the
/// definition. Without a `workingDir`, the command starts in `current`, where the user started the
/// run.
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

/// Returns the command that runs a check: `binary`, this program, in the directory of the
/// definition.
pub(crate) fn of_check(binary: &Path, base: &Path) -> LocalCommand {
    LocalCommand { program: binary.to_owned(), args: vec!["run-check".into()], directory: base.to_owned() }
}

/// Looks up a program like a shell.
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

/// The directories and the program of a local run.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The directory for the working directories of executions, removed with the run.
    pub work: PathBuf,
    /// The directory for the output of plugins and workers, in files `PLUGIN/logs/NODE.txt`.
    pub logs: PathBuf,
    /// The program that runs as `worker global` and `worker single-node`: this binary.
    pub binary: PathBuf,
    /// The directories in which plugins start.
    pub start: StartDirectories,
    /// Values that definitions take from Secrets, which are never written to disk.
    pub secrets: SecretValues,
}

/// Values of Secrets, by the name of the Secret and the key.
pub type SecretValues = BTreeMap<String, BTreeMap<String, String>>;

/// The start directory of a local run, and those of its definitions, recorded for a resumed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartDirectories {
    /// The current directory of the user, in which plugins without a `workingDir` start.
    pub current: PathBuf,
    /// The directory of each definition that was read from a file. Relative programs and
    /// `workingDir` are relative to it.
    #[serde(default)]
    pub definitions: BTreeMap<PluginName, PathBuf>,
}

impl StartDirectories {
    /// Records the directories in `work`, the working directory of the run.
    pub fn save(&self, work: &Path) -> io::Result<()> {
        write_atomic(&work.join(RECORD), &serde_json::to_vec(self)?)
    }

    /// Reads the record in `work`, or returns `None` if there is none.
    pub fn load(work: &Path) -> io::Result<Option<Self>> {
        match fs::read(work.join(RECORD)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the base directory for relative paths in a plugin's definition.
    pub(crate) fn base<'a>(&'a self, plugin: &PluginName, bundle: Option<&'a Path>) -> &'a Path {
        bundle.or(self.definitions.get(plugin).map(PathBuf::as_path)).unwrap_or(&self.current)
    }
}

/// The paths and the port of one execution.
pub(crate) struct ExecutionPaths<'a> {
    pub(crate) results: &'a Path,
    pub(crate) config: &'a Path,
    pub(crate) progress_port: u16,
    pub(crate) binary: &'a Path,
}

/// Returns the plugin's variables, as in a pod (docs/protocol.md, "Environment"), in addition to
/// those of this process. Automatic ones override those of the definition.
pub(crate) fn plugin_variables(
    launch: &Launch,
    key: &ResultKey,
    node: &str,
    paths: &ExecutionPaths<'_>,
    secrets: &SecretValues,
) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for variable in launch.definition.spec.env() {
        let text = match &variable.value {
            EnvValue::Text(text) => Some(text),
            EnvValue::From(from) => secret_value(from, secrets),
        };
        match text {
            Some(text) => drop(variables.insert(variable.name.clone(), text.clone())),
            None => tracing::warn!(
                plugin = %key.plugin,
                "variable `{}` is not set: its value comes from the cluster, and this is a local run", variable.name
            ),
        }
    }
    let results = paths.results.display().to_string();
    let directory = launch.bundle.as_deref().map(|bundle| bundle.display().to_string());
    let automatic = [
        ("SONOBUOY", Some("true".to_owned())),
        ("SONOBUOY_RESULTS_DIR", Some(results.clone())),
        ("RESULTS_DIR", Some(results)),
        ("SONOBUOY_PROGRESS_PORT", Some(paths.progress_port.to_string())),
        ("SONOBUOY_CONFIG_DIR", Some(paths.config.display().to_string())),
        ("NODE_NAME", Some(node.to_owned())),
        ("RESULT_TYPE", Some(key.plugin.to_string())),
        ("PLUMBLINE_BIN", Some(paths.binary.display().to_string())),
        ("PLUMBLINE_PLUGIN_DIR", directory),
    ];
    variables.extend(automatic.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    variables
}

/// Returns the value of a variable that a definition takes from a Secret (`valueFrom`), if it is
/// known here.
fn secret_value<'a>(from: &Value, secrets: &'a SecretValues) -> Option<&'a String> {
    let text = |pointer: &str| from.pointer(pointer).and_then(Value::as_str);
    secrets.get(text("/secretKeyRef/name")?)?.get(text("/secretKeyRef/key")?)
}

/// Returns the variable with the description of the plugin's check, if it runs one. Its component
/// is in `base`.
pub(crate) fn check_variable(launch: &Launch, base: &Path) -> Result<Option<(String, String)>, DispatchError> {
    let definition = &launch.definition;
    let Some((file, check)) = definition.plumbline.component.as_ref().zip(launch.check.clone()) else {
        return Ok(None);
    };
    let check = CheckRun::new(definition, base.join(file), launch.missing.len(), check.limits);
    let text = check.to_variable();
    let text = text.map_err(|error| DispatchError::new(format!("plugin `{}`: {error}", definition.name)))?;
    Ok(Some((CHECK_VARIABLE.to_owned(), text)))
}

/// Returns the complete environment of the worker.
pub(crate) fn worker_variables(
    launch: &Launch,
    key: &ResultKey,
    paths: &ExecutionPaths<'_>,
) -> BTreeMap<String, String> {
    let access = &launch.access;
    let results = paths.results.display().to_string();
    let progress = launch.definition.plumbline.progress.as_ref().map(|progress| json!(progress).to_string());
    [
        ("AGGREGATOR_URL", access.aggregator_url.clone()),
        ("CA_CERT", access.ca_cert.clone()),
        ("CLIENT_CERT", access.client_cert.clone()),
        ("CLIENT_KEY", access.client_key.clone()),
        ("NODE_NAME", key.node.to_string()),
        ("RESULT_TYPE", key.plugin.to_string()),
        ("RESULTS_DIR", results.clone()),
        ("SONOBUOY_RESULTS_DIR", results),
        ("SONOBUOY_PROGRESS_PORT", paths.progress_port.to_string()),
        // There are no volumes between plugin and worker, so a short delay is enough.
        ("SONOBUOY_DONE_FILE_DELAY", "100ms".to_owned()),
        // An aggregator that is killed has another port when the run continues.
        ("PLUMBLINE_UPLOAD_RETRY", "10m".to_owned()),
    ]
    .into_iter()
    .chain(progress.map(|progress| (PROGRESS_VARIABLE, progress)))
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(spec: &str) -> Definition {
        let yaml = format!("sonobuoy-config: {{driver: Process, plugin-name: p}}\nspec: {spec}\n");
        Definition::parse(&yaml).unwrap().definition
    }

    fn script(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_relative_program_is_found_next_to_the_definition_and_starts_in_the_working_directory() {
        let (bundle, current) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let resolve =
            || resolve(&definition("{name: p, command: [./check.sh], args: [a]}"), bundle.path(), current.path());
        fs::write(bundle.path().join("check.sh"), "#!/bin/sh\n").unwrap();
        assert!(resolve().unwrap_err().message.contains("./check.sh"), "not executable");
        script(&bundle.path().join("check.sh"));
        let command = resolve().unwrap();
        assert_eq!(command.program, bundle.path().join("./check.sh"));
        assert_eq!(command.directory, current.path());
        assert_eq!(command.args, ["a"]);
    }

    #[test]
    fn the_start_directories_are_replaced_and_never_a_part_of_them() {
        let work = tempfile::tempdir().unwrap();
        let start = |current: &str| StartDirectories { current: current.into(), definitions: BTreeMap::new() };
        start("/a").save(work.path()).unwrap();
        // A file that is truncated before it is written is empty on a full disk.
        let earlier = work.path().join("earlier");
        fs::hard_link(work.path().join(RECORD), &earlier).unwrap();
        start("/b").save(work.path()).unwrap();
        assert_eq!(StartDirectories::load(work.path()).unwrap(), Some(start("/b")));
        assert_eq!(serde_json::from_slice::<StartDirectories>(&fs::read(earlier).unwrap()).unwrap(), start("/a"));
    }

    #[test]
    fn a_check_is_described_in_a_variable_for_this_program() {
        let yaml = "sonobuoy-config: {driver: Process, plugin-name: p}\nplumbline: {component: c.wasm, grants: {files: [/proc]}}\n";
        let definition = std::sync::Arc::new(Definition::parse(yaml).unwrap().definition);
        let access = plumbline_aggregator::WorkerAccess {
            aggregator_url: String::new(),
            ca_cert: String::new(),
            client_cert: String::new(),
            client_key: String::new(),
        };
        let mut launch = Launch {
            run: plumbline_core::RunId::random(),
            definition,
            bundle: None,
            check: Some(plumbline_aggregator::CheckLaunch {
                limits: plumbline_core::ModuleLimits::default(),
                compiler: plumbline_aggregator::CheckCompiler::new(|| Err("a local run compiles nothing".to_owned())),
            }),
            missing: vec!["p/global".parse().unwrap()],
            access,
            heard: plumbline_aggregator::WorkerContact::new(|_| None),
        };
        let (name, text) = check_variable(&launch, Path::new("/bundle")).unwrap().unwrap();
        let read: CheckRun = serde_json::from_str(&text).unwrap();
        assert_eq!((name.as_str(), read.component), (CHECK_VARIABLE, PathBuf::from("/bundle/c.wasm")));
        assert_eq!((read.root.as_str(), read.stay, read.grants.files), ("", false, vec!["/proc".to_owned()]));
        assert_eq!(of_check(Path::new("/bin/plumbline"), Path::new("/bundle")).args, ["run-check"]);
        launch.check = None;
        assert!(check_variable(&launch, Path::new("/bundle")).unwrap().is_none());
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

    #[test]
    fn a_record_is_read_back_and_a_damaged_one_is_an_error() {
        let work = tempfile::tempdir().unwrap();
        assert_eq!(StartDirectories::load(work.path()).unwrap(), None);
        let smoke: PluginName = "smoke".parse().unwrap();
        let start =
            StartDirectories { current: "/here".into(), definitions: [(smoke.clone(), "/there".into())].into() };
        start.save(work.path()).unwrap();
        assert_eq!(StartDirectories::load(work.path()).unwrap().as_ref(), Some(&start));
        assert_eq!(start.base(&smoke, None), Path::new("/there"));
        assert_eq!(start.base(&smoke, Some(Path::new("/bundle"))), Path::new("/bundle"));
        assert_eq!(start.base(&"other".parse().unwrap(), None), Path::new("/here"));
        fs::write(work.path().join(RECORD), "{").unwrap();
        assert!(StartDirectories::load(work.path()).is_err());
    }
}

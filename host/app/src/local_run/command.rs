//! Commands as plugins, without a definition file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_core::definition::{AUTO_FORMAT, Definition};
use plumbline_core::{PluginName, closest};
use serde_json::{Map, Value, json};

use super::tools::{self, Directories};
use crate::error::AppError;
use crate::sources::{ResolvedPlugin, SourceKind};

/// The file with the standard output of the command, in its results.
pub const STDOUT_FILE: &str = "stdout.txt";

/// A command to run as a plugin.
#[derive(Debug, Clone, Default)]
pub struct CommandOptions {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The name of the plugin. By default, it is made of the command.
    pub name: Option<String>,
    /// The format of the results. By default, it is detected.
    pub format: Option<String>,
}

/// Makes a plugin of the command, with directories in `work`, after checking that the program
/// exists.
pub(super) fn plugin(options: &CommandOptions, work: &Path) -> Result<ResolvedPlugin, AppError> {
    let command = &options.command;
    find(command)?;
    let name = options.name.clone().unwrap_or_else(|| tools::plugin_name(command));
    let name: PluginName = name
        .parse()
        .map_err(|error| AppError::usage(format!("`--name {name}` cannot name a plugin")).because(&error))?;
    let (results, config) = plumbline_local::directories(work, &name);
    let directories = Directories { results: &results, config: &config };
    let prepared = tools::prepare(command, &directories, |name| std::env::var(name).ok());
    let definition = definition(&name, options.format.as_deref(), &prepared)?;
    Ok(ResolvedPlugin {
        source: Source { definition: Arc::new(definition), bundle: None },
        directory: None,
        warnings: Vec::new(),
        origin: command.join(" "),
        digest: None,
        kind: SourceKind::Named,
        signatures: None,
        pinned: None,
    })
}

fn definition(name: &PluginName, format: Option<&str>, prepared: &tools::Prepared) -> Result<Definition, AppError> {
    let env: Vec<Value> = prepared.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let here = std::env::current_dir()
        .map_err(|error| AppError::system("failed to find the current directory").because(&error))?;
    let here = here.to_str().ok_or_else(|| AppError::usage("the path of the current directory is not UTF-8"))?;
    let mut spec = json!({"name": "plugin", "command": prepared.command, "workingDir": here});
    if let (false, Value::Object(spec)) = (env.is_empty(), &mut spec) {
        spec.insert("env".to_owned(), env.into());
    }
    let files: Map<String, Value> =
        prepared.files.iter().map(|(name, text)| ((*name).to_owned(), text.as_str().into())).collect();
    let document = json!({
        "sonobuoy-config": {
            "driver": "Process",
            "plugin-name": name,
            "description": format!("`{}`", prepared.command.join(" ")),
            "result-format": format.unwrap_or(AUTO_FORMAT),
        },
        "spec": spec,
        "config-map": files,
        "plumbline": {"stdout": STDOUT_FILE, "no-tests-exit-codes": prepared.no_tests},
    });
    let parsed = Definition::from_json(document)
        .map_err(|error| AppError::usage("this command cannot be run as a plugin").because(&error))?;
    Ok(parsed.definition)
}

/// Checks that the program exists. Otherwise, the error suggests what may have been meant.
fn find(command: &[String]) -> Result<(), AppError> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let missing = |hint: String| Err(AppError::usage(format!("command not found: `{program}`")).hint(hint));
    if program.contains('/') {
        return match Path::new(program).metadata() {
            Ok(file) if file.is_file() && is_executable(&file) => Ok(()),
            Ok(file) if file.is_file() => Err(AppError::usage(format!("command is not executable: `{program}`"))
                .hint(format!("make it executable with `chmod +x {program}`, or run it with its interpreter"))),
            Ok(_) => Err(AppError::usage(format!("command is not a file: `{program}`"))),
            Err(_) => missing("paths are relative to the current directory".to_owned()),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let executable = |path: PathBuf| path.metadata().is_ok_and(|file| file.is_file() && is_executable(&file));
    if directories.iter().any(|directory| executable(directory.join(program))) {
        return Ok(());
    }
    if let Some((first, _)) = program.split_once(char::is_whitespace) {
        return missing(format!(
            "give program and arguments as words of their own: `-- {first} …`; for shell syntax, `-- sh -c '…'`"
        ));
    }
    if Path::new(program).is_file() {
        return missing(format!("to run the file in the current directory, write `./{program}`"));
    }
    let names: Vec<String> = directories.iter().flat_map(|directory| programs(directory)).collect();
    match closest(program, names.iter().map(String::as_str)) {
        Some(meant) => missing(format!("did you mean `{meant}`?")),
        None => missing(
            "no directory of $PATH has this program: install it, or write a path such as `./check.sh`".to_owned(),
        ),
    }
}

fn is_executable(file: &std::fs::Metadata) -> bool {
    file.permissions().mode() & 0o111 != 0
}

/// The names of files in a directory of `$PATH`.
fn programs(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

//! Commands as plugins, without a definition file. Test runners get what they need to write a report
//! that Plumbline can read; other commands run unchanged.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_core::definition::{AUTO_FORMAT, Definition};
use plumbline_core::{PluginName, closest};
use serde_json::{Map, Value, json};

use crate::error::{AppError, Explain as _};
use crate::options::LocalRunArgs;
use crate::sources::ResolvedPlugin;

/// The file with the standard output of the command, in its results.
pub const STDOUT_FILE: &str = "stdout.txt";

/// Makes a plugin of the command, with directories in `work`, after checking that the program
/// exists.
pub(super) fn plugin(options: &LocalRunArgs, work: &Path) -> Result<ResolvedPlugin, AppError> {
    let command = &options.command;
    find(command)?;
    let name = options.name.clone().unwrap_or_else(|| plugin_name(command));
    let name: PluginName = name
        .parse()
        .usage_error(format_args!("invalid plugin name `--name {name}`"))
        .hint("choose another name with `--name`")?;
    let (results, config) = crate::local::directories(work, &name);
    let prepared = prepare(command, &results, &config, |name| std::env::var(name).ok());
    let definition = definition(&name, options.result_format(), &prepared)?;
    Ok(ResolvedPlugin::of_definition(definition, command.join(" ")))
}

fn definition(name: &PluginName, format: Option<&str>, prepared: &Prepared) -> Result<Definition, AppError> {
    let env: Vec<Value> = prepared.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let here = std::env::current_dir().system_error("failed to find the current directory")?;
    let here = here.to_str().ok_or_else(|| {
        AppError::usage("the path of the current directory is not UTF-8").hint("run the command in another directory")
    })?;
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
        .usage_error("failed to make a plugin from this command")
        .hint("write a definition for it: docs/definition.md")?;
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
            Ok(_) => Err(AppError::usage(format!("command is not a file: `{program}`"))
                .hint("pass a program, followed by its arguments")),
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
            "write the program and its arguments as separate words: `-- {first} …`; for shell syntax, use `-- sh -c '…'`"
        ));
    }
    if Path::new(program).is_file() {
        return missing(format!("to run the file in the current directory, write `./{program}`"));
    }
    let entries = directories.iter().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
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

/// The name of the report.
pub(super) const REPORT: &str = "test-results.xml";

const NEXTEST_CONFIG: &str = "nextest.toml";

#[derive(Debug, Default, PartialEq)]
pub(super) struct Prepared {
    /// The command, with further arguments.
    pub(super) command: Vec<String>,
    /// Variables of its environment.
    pub(super) env: Vec<(&'static str, String)>,
    /// Files of its configuration directory.
    pub(super) files: Vec<(&'static str, String)>,
    /// Exit codes that mean that there was no test.
    pub(super) no_tests: Vec<u8>,
}

/// Prepares `command`, with directories for its results and its configuration. `variable` looks up a
/// variable of the environment.
pub(super) fn prepare(
    command: &[String],
    results: &Path,
    config: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Prepared {
    let command = command.to_vec();
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let inner = unwrapped(&words);
    // The words of a manager of environments stay in front.
    let start = words.len() - inner.len();
    let Some((program, args)) = inner.split_first() else { return Prepared::default() };
    let report = results.join(REPORT);
    match (base_name(program), args) {
        ("pytest" | "py.test", _) => pytest(command, &report, variable),
        (name, ["-m", "pytest", ..]) if is_python(name) => pytest(command, &report, variable),
        ("cargo", ["nextest", "run" | "r", ..]) => {
            let config = config.join(NEXTEST_CONFIG);
            // JSON escapes are a subset of those of TOML.
            let path = Value::from(report.display().to_string());
            Prepared {
                command: inserted(
                    command,
                    start + 3,
                    ["--tool-config-file".into(), format!("plumbline:{}", config.display())],
                ),
                files: vec![(NEXTEST_CONFIG, format!("[profile.default.junit]\npath = {path}\n"))],
                no_tests: vec![4],
                ..Prepared::default()
            }
        }
        ("go", ["test", rest @ ..]) if !rest.iter().any(|arg| matches!(*arg, "-json" | "--json")) => {
            Prepared { command: inserted(command, start + 2, ["-json".into()]), ..Prepared::default() }
        }
        _ => Prepared { command, ..Prepared::default() },
    }
}

/// The name of the plugin that runs `command`: the program, and the task of programs with tasks.
pub(super) fn plugin_name(command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let name = match unwrapped(&words) {
        [python, "-m", module, ..] if is_python(base_name(python)) => (*module).to_owned(),
        [program, task, ..] if has_tasks(base_name(program)) && task.starts_with(char::is_alphabetic) => {
            format!("{}-{task}", base_name(program))
        }
        [program, ..] => base_name(program).to_owned(),
        [] => String::new(),
    };
    let stem = match name.rsplit_once('.') {
        Some((stem, "sh" | "bash" | "py" | "pl" | "rb" | "js" | "ts" | "exe")) if !stem.is_empty() => stem,
        _ => &name,
    };
    dns_label(stem)
}

/// The command without a manager of Python environments in front of it.
fn unwrapped<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        ["uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye", "run", inner, ..] if !inner.starts_with('-') => {
            words.get(2..).unwrap_or(words)
        }
        _ => words,
    }
}

/// A valid name of a plugin: lower-case letters, digits and `-`.
fn dns_label(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = text.chars().map(plain).take(MAX_NAME).collect();
    match mapped.trim_matches('-') {
        "" | "sonobuoy" | "plumbline" => "command".to_owned(),
        name => name.to_owned(),
    }
}

const MAX_NAME: usize = 40;

fn pytest(command: Vec<String>, report: &Path, variable: impl Fn(&str) -> Option<String>) -> Prepared {
    // pytest splits the variable as a shell does. Options on the command line override it.
    let quoted = report.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let own = variable("PYTEST_ADDOPTS").filter(|options| !options.trim().is_empty());
    let options = own.into_iter().chain([format!("\"--junit-xml={quoted}\"")]).collect::<Vec<_>>().join(" ");
    Prepared { command, env: vec![("PYTEST_ADDOPTS", options)], no_tests: vec![5], ..Prepared::default() }
}

fn inserted(mut command: Vec<String>, at: usize, more: impl IntoIterator<Item = String>) -> Vec<String> {
    let at = at.min(command.len());
    command.splice(at..at, more);
    command
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn has_tasks(name: &str) -> bool {
    matches!(name, "go" | "cargo" | "npm" | "pnpm" | "yarn" | "make" | "mvn" | "gradle" | "dotnet" | "mix" | "swift")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn prepared(line: &str) -> Prepared {
        let variable = |name: &str| (name == "PYTEST_ADDOPTS").then(|| "-x".to_owned());
        prepare(&words(line), Path::new("/r \"x"), Path::new("/c"), variable)
    }

    #[test]
    fn pytest_is_asked_through_its_environment() {
        for line in ["pytest -q", "/usr/bin/py.test", "python3.12 -m pytest -k a", "uv run pytest"] {
            let prepared = prepared(line);
            assert_eq!(prepared.command, words(line));
            assert_eq!(prepared.env, [("PYTEST_ADDOPTS", r#"-x "--junit-xml=/r \"x/test-results.xml""#.to_owned())]);
            assert_eq!(prepared.no_tests, [5]);
        }
    }

    #[test]
    fn nextest_is_asked_through_a_file_of_its_own() {
        let prepared = prepared("cargo nextest run --workspace");
        assert_eq!(
            prepared.command,
            words("cargo nextest run --tool-config-file plumbline:/c/nextest.toml --workspace")
        );
        assert_eq!(
            prepare(&words("uv run cargo nextest run"), Path::new("/r"), Path::new("/c"), |_| None).command,
            words("uv run cargo nextest run --tool-config-file plumbline:/c/nextest.toml")
        );
        let config = "[profile.default.junit]\npath = \"/r \\\"x/test-results.xml\"\n";
        assert_eq!(prepared.files, [("nextest.toml", config.to_owned())]);
    }

    #[test]
    fn go_prints_events_and_other_commands_stay_as_they_are() {
        assert_eq!(prepared("go test ./...").command, words("go test -json ./..."));
        assert_eq!(prepared("uv run go test ./...").command, words("uv run go test -json ./..."));
        for line in ["go test -json ./...", "go vet ./...", "./check.sh", "cargo test", "python3 pytest.py"] {
            assert_eq!(prepared(line), Prepared { command: words(line), ..Prepared::default() });
        }
    }

    #[test]
    fn a_plugin_is_named_after_its_command() {
        for (line, name) in [
            ("pytest -q", "pytest"),
            ("python3 -m pytest", "pytest"),
            ("poetry run pytest", "pytest"),
            ("go test -json ./...", "go-test"),
            ("cargo nextest run", "cargo-nextest"),
            ("./check.sh", "check"),
            ("bats tests/", "bats"),
            ("/opt/My_Tool.v2", "my-tool-v2"),
            ("make -j4", "make"),
            ("./Überprüfung.sh", "berpr-fung"),
            ("./...", "command"),
            ("./sonobuoy", "command"),
        ] {
            assert_eq!(plugin_name(&words(line)), name, "{line}");
        }
    }
}

//! Test runners: how each writes a report that Plumbline can read, and the exit codes that mean
//! that there was no test. Other commands run unchanged.

use std::path::Path;

/// The name of the report.
pub(super) const REPORT: &str = "test-results.xml";

/// The name of nextest's configuration file.
const NEXTEST_CONFIG: &str = "nextest.toml";

/// A command with what it needs to write a report.
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

/// The directories of a tool.
pub(super) struct Directories<'a> {
    /// Results.
    pub(super) results: &'a Path,
    /// Files of the definition.
    pub(super) config: &'a Path,
}

/// Prepares `command`. `variable` looks up a variable of the environment.
pub(super) fn prepare(
    command: &[String],
    directories: &Directories<'_>,
    variable: impl Fn(&str) -> Option<String>,
) -> Prepared {
    let command = command.to_vec();
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let Some((program, args)) = unwrapped(&words).split_first() else { return Prepared::default() };
    let report = directories.results.join(REPORT);
    match (base_name(program), args) {
        ("pytest" | "py.test", _) => pytest(command, &report, variable),
        (name, ["-m", "pytest", ..]) if is_python(name) => pytest(command, &report, variable),
        ("cargo", ["nextest", "run" | "r", ..]) => {
            let config = directories.config.join(NEXTEST_CONFIG);
            let path = toml_string(&report.display().to_string());
            Prepared {
                command: inserted(command, 3, ["--tool-config-file".into(), format!("plumbline:{}", config.display())]),
                files: vec![(NEXTEST_CONFIG, format!("[profile.default.junit]\npath = {path}\n"))],
                no_tests: vec![4],
                ..Prepared::default()
            }
        }
        ("go", ["test", rest @ ..]) if !rest.iter().any(|arg| matches!(*arg, "-json" | "--json")) => {
            Prepared { command: inserted(command, 2, ["-json".into()]), ..Prepared::default() }
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

/// Characters of a plugin's name that is made of a command.
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

/// A basic string of TOML.
fn toml_string(text: &str) -> String {
    // JSON escapes are a subset of those of TOML.
    serde_json::Value::from(text).to_string()
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
        let directories = Directories { results: Path::new("/r \"x"), config: Path::new("/c") };
        prepare(&words(line), &directories, |name| (name == "PYTEST_ADDOPTS").then(|| "-x".to_owned()))
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
        let config = "[profile.default.junit]\npath = \"/r \\\"x/test-results.xml\"\n";
        assert_eq!(prepared.files, [("nextest.toml", config.to_owned())]);
    }

    #[test]
    fn go_prints_events_and_other_commands_stay_as_they_are() {
        assert_eq!(prepared("go test ./...").command, words("go test -json ./..."));
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

//! Finds the tools of each language and runs them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use crate::error::AuthorError;

/// A program that a recipe needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The environment variable that may name the program. It takes precedence.
    pub(super) variable: &'static str,
    /// Paths in the project to try before the system's path.
    pub(super) local: &'static [&'static str],
    pub(super) hint: &'static str,
}

/// Cargo, and with it Rust.
pub(super) const CARGO: Tool = Tool {
    name: "cargo",
    variable: "CARGO",
    local: &[],
    hint: "install Rust (https://rustup.rs), then `rustup target add wasm32-unknown-unknown`",
};
/// Go.
pub(super) const GO: Tool = Tool {
    name: "go",
    variable: "PLUMBLINE_GO",
    local: &[],
    hint: "install Go 1.24 or later (https://go.dev/dl), or set `PLUMBLINE_GO=/path/to/go`",
};
/// A C compiler that includes everything for WASI.
pub(super) const ZIG: Tool = Tool {
    name: "zig",
    variable: "PLUMBLINE_ZIG",
    local: &[],
    hint: "install zig (`python3 -m pip install ziglang`, or https://ziglang.org/download) or clang with wasi-libc, or set `PLUMBLINE_ZIG=/path/to/zig`",
};
/// The compiler of JavaScript components.
pub(super) const JCO: Tool = Tool {
    name: "jco",
    variable: "PLUMBLINE_JCO",
    local: &["node_modules/.bin/jco"],
    hint: "install Node.js 20 or later with npm, which fetches it into the project, or set `PLUMBLINE_JCO=/path/to/jco`",
};
/// The bundler for JavaScript.
pub(super) const ESBUILD: Tool = Tool {
    name: "esbuild",
    variable: "PLUMBLINE_ESBUILD",
    local: &["node_modules/.bin/esbuild"],
    hint: "install Node.js 20 or later with npm, which fetches it into the project, or set `PLUMBLINE_ESBUILD=/path/to/esbuild`",
};
/// The type checker of TypeScript.
pub(super) const TSC: Tool = Tool {
    name: "tsc",
    variable: "PLUMBLINE_TSC",
    local: &["node_modules/.bin/tsc"],
    hint: "add `typescript` to `devDependencies` in `package.json`, then `npm install`, or set `PLUMBLINE_TSC=/path/to/tsc`",
};
/// The package manager of JavaScript.
pub(super) const NPM: Tool = Tool {
    name: "npm",
    variable: "PLUMBLINE_NPM",
    local: &[],
    hint: "install Node.js 20 or later with npm, or set `PLUMBLINE_JCO` and `PLUMBLINE_ESBUILD`",
};
/// The compiler of Python components.
pub(super) const COMPONENTIZE_PY: Tool = Tool {
    name: "componentize-py",
    variable: "PLUMBLINE_COMPONENTIZE_PY",
    local: &[".venv/bin/componentize-py"],
    hint: "install it (`python3 -m pip install componentize-py`), or set `PLUMBLINE_COMPONENTIZE_PY=/path/to/componentize-py`",
};
/// Python itself, to create a virtual environment in the project.
pub(super) const PYTHON: Tool = Tool {
    name: "python3",
    variable: "PLUMBLINE_PYTHON",
    local: &[],
    hint: "install Python 3.10 or later with venv, or set `PLUMBLINE_COMPONENTIZE_PY=/path/to/componentize-py`",
};

impl Tool {
    /// Returns the program: the one that the variable names, then the project's, then the first on
    /// the path.
    pub(super) fn find(self, project: &Path) -> Result<PathBuf, AuthorError> {
        self.look(project).ok_or_else(|| {
            AuthorError::system(format!("`{}` not found", self.name))
                .because(format!("it is not in `${}`, in the project or in `PATH`", self.variable))
                .hint(self.hint)
        })
    }

    /// Like [`Tool::find`], but without an error if the program is missing.
    pub(super) fn look(self, project: &Path) -> Option<PathBuf> {
        self.named().or_else(|| self.in_project(project)).or_else(|| on_path(self.name))
    }

    pub(super) fn named(self) -> Option<PathBuf> {
        env::var_os(self.variable).filter(|named| !named.is_empty()).map(PathBuf::from)
    }

    pub(super) fn in_project(self, project: &Path) -> Option<PathBuf> {
        self.local.iter().map(|local| project.join(local)).find(|path| is_program(path))
    }
}

pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    search(&path, name)
}

fn search(path: &OsStr, name: &str) -> Option<PathBuf> {
    // Skip relative entries: an empty one means the current directory, and a build must not depend
    // on it.
    let directories = env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Receives progress, one line at a time.
pub(super) type Say<'a> = &'a mut dyn FnMut(&str);

/// Runs a command to its end, with its output on standard error. It gets no standard input, so that
/// a build cannot wait for an answer.
pub(super) fn run(command: &mut Command, say: Say<'_>, hint: &str) -> Result<(), AuthorError> {
    say(&format!("$ {}", describe(command)));
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(io::stderr()))
        .status()
        .map_err(|error| AuthorError::system(format!("failed to start `{program}`")).because(error).hint(hint))?;
    if status.success() { Ok(()) } else { Err(failed(command, &status.to_string(), hint)) }
}

pub(super) fn failed(command: &Command, status: &str, hint: &str) -> AuthorError {
    AuthorError::input(format!("`{}` failed: {status}", short(command))).because("see its output above").hint(hint)
}

/// Returns the command as you would type it in a shell, with the variables that are set for it.
pub(super) fn describe(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let set = set.map(|(name, value)| format!("{}={}", name.to_string_lossy(), quoted(value)));
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted);
    set.chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the program's name and its first argument, which is usually a subcommand.
fn short(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    match command.get_args().next() {
        Some(first) => format!("{name} {}", first.to_string_lossy()),
        None => name.into_owned(),
    }
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Removes the artifact of an earlier build, so that it cannot be mistaken for that of this build.
pub(super) fn remove_old(path: &Path) -> Result<(), AuthorError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(AuthorError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_in_absolute_directories_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("tool");
        std::fs::write(&program, "").unwrap();
        assert_eq!(search(dir.path().as_os_str(), "tool"), None);
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(search(dir.path().as_os_str(), "tool"), Some(program));
        assert_eq!(search(OsStr::new(":."), "tool"), None);
    }

    #[test]
    fn a_tool_that_is_not_there_is_named_with_what_to_do() {
        let nowhere =
            Tool { name: "no-such-tool", variable: "PLUMBLINE_NO_SUCH_TOOL", local: &["bin/x"], hint: "get it" };
        let error = nowhere.find(Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.what, "`no-such-tool` not found");
        assert_eq!(error.hint.as_deref(), Some("get it"));
    }

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        let mut command = Command::new("go");
        command.env("GOOS", "wasip1").args(["build", "-ldflags=-s -w", "it's"]);
        assert_eq!(describe(&command), r"GOOS=wasip1 go build '-ldflags=-s -w' 'it'\''s'");
    }

    #[test]
    fn a_failure_names_tool_code_and_hint() {
        let mut lines = Vec::new();
        let mut say = |line: &str| lines.push(line.to_owned());
        let error = run(Command::new("sh").args(["-c", "exit 3"]), &mut say, "do this").unwrap_err();
        assert_eq!(error.what, "`sh -c` failed: exit status: 3");
        assert_eq!(error.hint.as_deref(), Some("do this"));
        let error = run(&mut Command::new("/nowhere/tool"), &mut say, "install it").unwrap_err();
        assert!(error.to_string().starts_with("failed to start `/nowhere/tool`"), "{error}");
        assert_eq!(lines, ["$ sh -c 'exit 3'", "$ /nowhere/tool"]);
    }
}

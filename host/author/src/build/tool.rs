//! Lookup of the tools of each language.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::project::AuthorError;

/// A program that a recipe needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// The name of the program.
    pub(crate) name: &'static str,
    /// The environment variable that may name the program. It takes precedence.
    pub(crate) variable: &'static str,
    /// Paths in the project to try before the system's path.
    pub(crate) local: &'static [&'static str],
    /// How to install the program.
    pub(crate) hint: &'static str,
}

/// Cargo, and with it Rust.
pub(crate) const CARGO: Tool = Tool {
    name: "cargo",
    variable: "CARGO",
    local: &[],
    hint: "install Rust (https://rustup.rs), then `rustup target add wasm32-unknown-unknown`",
};
/// Go.
pub(crate) const GO: Tool = Tool {
    name: "go",
    variable: "PLUMBLINE_GO",
    local: &[],
    hint: "install Go 1.24 or later (https://go.dev/dl), or name it: `PLUMBLINE_GO=/path/to/go`",
};
/// A C compiler that includes everything for WASI.
pub(crate) const ZIG: Tool = Tool {
    name: "zig",
    variable: "PLUMBLINE_ZIG",
    local: &[],
    hint: "install zig (`python3 -m pip install ziglang`, or https://ziglang.org/download) or clang with wasi-libc, or name zig: `PLUMBLINE_ZIG=/path/to/zig`",
};
/// The compiler of JavaScript components.
pub(crate) const JCO: Tool = Tool {
    name: "jco",
    variable: "PLUMBLINE_JCO",
    local: &["node_modules/.bin/jco"],
    hint: "install Node.js 20 or later with npm, which fetches it into the project, or name it: `PLUMBLINE_JCO=/path/to/jco`",
};
/// The bundler for JavaScript.
pub(crate) const ESBUILD: Tool = Tool {
    name: "esbuild",
    variable: "PLUMBLINE_ESBUILD",
    local: &["node_modules/.bin/esbuild"],
    hint: "install Node.js 20 or later with npm, which fetches it into the project, or name it: `PLUMBLINE_ESBUILD=/path/to/esbuild`",
};
/// The type checker of TypeScript.
pub(crate) const TSC: Tool = Tool {
    name: "tsc",
    variable: "PLUMBLINE_TSC",
    local: &["node_modules/.bin/tsc"],
    hint: "add `typescript` to `devDependencies` in `package.json`, then `npm install`, or name the type checker: `PLUMBLINE_TSC=/path/to/tsc`",
};
/// The package manager of JavaScript.
pub(crate) const NPM: Tool = Tool {
    name: "npm",
    variable: "PLUMBLINE_NPM",
    local: &[],
    hint: "install Node.js 20 or later with npm, or name the tools: `PLUMBLINE_JCO`, `PLUMBLINE_ESBUILD`",
};
/// The compiler of Python components.
pub(crate) const COMPONENTIZE_PY: Tool = Tool {
    name: "componentize-py",
    variable: "PLUMBLINE_COMPONENTIZE_PY",
    local: &[".venv/bin/componentize-py"],
    hint: "install it (`python3 -m pip install componentize-py`), or name it: `PLUMBLINE_COMPONENTIZE_PY=/path/to/componentize-py`",
};
/// Python itself, to create a virtual environment in the project.
pub(crate) const PYTHON: Tool = Tool {
    name: "python3",
    variable: "PLUMBLINE_PYTHON",
    local: &[],
    hint: "install Python 3.10 or later with venv, or name the tool: `PLUMBLINE_COMPONENTIZE_PY=/path/to/componentize-py`",
};

impl Tool {
    /// Returns the program: the one that the variable names, then the project's, then the first on
    /// the path.
    pub(crate) fn find(self, project: &Path) -> Result<PathBuf, AuthorError> {
        self.look(project).ok_or_else(|| {
            AuthorError::system(format!("`{}` is not there", self.name))
                .because(format!("neither `${}` nor the project nor the path has it", self.variable))
                .hint(self.hint)
        })
    }

    /// Like [`Tool::find`], but without an error if the program is missing.
    pub(crate) fn look(self, project: &Path) -> Option<PathBuf> {
        self.named().or_else(|| self.in_project(project)).or_else(|| on_path(self.name))
    }

    /// Returns the program that the variable names.
    pub(crate) fn named(self) -> Option<PathBuf> {
        env::var_os(self.variable).filter(|named| !named.is_empty()).map(PathBuf::from)
    }

    /// Returns the project's own copy.
    pub(crate) fn in_project(self, project: &Path) -> Option<PathBuf> {
        self.local.iter().map(|local| project.join(local)).find(|path| is_program(path))
    }
}

/// Returns the first program with this name on the path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
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
        assert_eq!(error.what, "`no-such-tool` is not there");
        assert_eq!(error.hint.as_deref(), Some("get it"));
    }
}

//! Tests that take minutes. `cargo xtask e2e` runs them only with `--long`.

mod cost;
mod languages;

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A language for checks, and the program that builds them.
struct Language {
    /// The name, as `plugin new --lang` takes it.
    name: &'static str,
    /// The name of the program.
    tool: &'static str,
    /// The variable that may name the program.
    variable: &'static str,
}

const RUST: Language = Language { name: "rust", tool: "cargo", variable: "CARGO" };
const GO: Language = Language { name: "go", tool: "go", variable: "PLUMBLINE_GO" };
const JAVASCRIPT: Language = Language { name: "javascript", tool: "jco", variable: "PLUMBLINE_JCO" };
const TYPESCRIPT: Language = Language { name: "typescript", ..JAVASCRIPT };
const PYTHON: Language = Language { name: "python", tool: "componentize-py", variable: "PLUMBLINE_COMPONENTIZE_PY" };
const C: Language = Language { name: "c", tool: "zig", variable: "PLUMBLINE_ZIG" };

impl Language {
    /// Returns why checks in this language cannot be built on this machine, or `None` if they can.
    fn missing(&self) -> Option<String> {
        let named = env::var_os(self.variable).filter(|named| !named.is_empty());
        let program = named.unwrap_or_else(|| self.tool.into());
        let mut command = Command::new(&program);
        command.arg("--version").stdin(Stdio::null());
        // Not every program knows the option. It need only start.
        let error = command.output().err()?;
        Some(format!("`{}`, which builds checks in {}: {error}", program.display(), self.name))
    }

    /// Returns the file that declares the rights of a new check, and the lines that do so.
    fn rights(&self) -> (&'static str, &'static str) {
        match self.name {
            "rust" => ("src/lib.rs", "    rights: { \"files\": [\"/proc/sys\"] },\n"),
            _ => ("module.yaml", "rights:\n  files: [/proc/sys]\n"),
        }
    }
}

/// The lines in the definition of a new check that grant its rights.
const GRANT: &str = "  grants:\n    files: [/proc/sys]\n";

/// Returns a line of a script that gives compilers the caches of the user. Otherwise, they would
/// compile their standard libraries.
fn caches() -> String {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    cache.map(|cache| format!("export XDG_CACHE_HOME='{}'\n", cache.display())).unwrap_or_default()
}

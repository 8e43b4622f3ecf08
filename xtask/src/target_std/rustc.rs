//! The Rust compiler of this machine.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::target::Target;
use crate::error::Error;
use crate::process;

/// A compiler and its properties.
#[derive(Debug, Clone)]
pub(crate) struct Rustc {
    pub(crate) program: OsString,
    /// The directory to search for shared libraries, in addition to those of the system.
    pub(crate) libraries: Option<PathBuf>,
    /// The line of `rustc -V`.
    pub(crate) line: String,
    /// The release, such as `1.95.0`.
    pub(crate) release: String,
    /// The commit that it was built from, if it is known.
    pub(crate) commit: Option<String>,
    /// The target triple of this machine.
    pub(crate) host: String,
    pub(crate) sysroot: PathBuf,
}

impl Rustc {
    /// Returns the compiler that cargo would use.
    pub(crate) fn of_this_machine() -> Result<Self, Error> {
        Self::query(env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")), None)
    }

    /// Queries the compiler `program`.
    pub(crate) fn query(program: OsString, libraries: Option<PathBuf>) -> Result<Self, Error> {
        let ask = |args: &[&str]| process::output(with_libraries(&program, libraries.as_deref()).args(args));
        let verbose = ask(&["--version", "--verbose"])?;
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        let field = |name: &str| {
            verbose
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(|value| value.trim().to_owned())
        };
        let missing = |name: &str| Error::unexpected(format!("`rustc --version --verbose` does not say its {name}"));
        Ok(Self {
            line: verbose.lines().next().unwrap_or_default().trim().to_owned(),
            release: field("release").ok_or_else(|| missing("release"))?,
            commit: field("commit-hash").filter(|hash| hash != "unknown"),
            host: field("host").ok_or_else(|| missing("host"))?,
            program,
            libraries,
            sysroot,
        })
    }

    /// Returns a command that runs the compiler.
    pub(crate) fn command(&self) -> Command {
        with_libraries(&self.program, self.libraries.as_deref())
    }

    /// Returns the `rustc -V` line as a file name.
    pub(crate) fn slug(&self) -> String {
        slug(&self.line)
    }

    /// Returns whether the compiler finds the standard library for `target`.
    pub(crate) fn has_target(&self, target: Target) -> bool {
        has_std(&target.libraries(&self.sysroot))
    }

    /// Returns the linker for WebAssembly that rustup toolchains include.
    pub(crate) fn rust_lld(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(&self.host).join("bin/rust-lld")
    }
}

fn with_libraries(program: &OsString, libraries: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command
}

/// Returns whether a directory has a standard library. Without `libstd` it is a leftover.
fn has_std(libraries: &Path) -> bool {
    fs::read_dir(libraries).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

fn slug(line: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+');
    let words = line.split(|c| !kept(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_compilers_get_different_names() {
        assert_eq!(slug("rustc 1.95.0 (59807616e 2026-04-14)"), "rustc-1.95.0-59807616e-2026-04-14");
        assert_ne!(slug("rustc 1.85.0 (Debian 1)"), slug("rustc 1.85.0 (Debian 2)"));
        assert!(!slug("rustc ../../x (/etc)").contains('/'));
    }

    #[test]
    fn a_target_without_libstd_is_not_there() {
        let sysroot = tempfile::tempdir().unwrap();
        let libraries = Target::MODULE.libraries(sysroot.path());
        assert!(!has_std(&libraries));
        fs::create_dir_all(&libraries).unwrap();
        fs::write(libraries.join("libcore-1.rlib"), "").unwrap();
        assert!(!has_std(&libraries));
        fs::write(libraries.join("libstd-1.rlib"), "").unwrap();
        assert!(has_std(&libraries));
    }
}

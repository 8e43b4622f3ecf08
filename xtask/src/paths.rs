//! The directories that tasks use.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The workspace that this program was built from.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the workspace. `cargo run` sets the directory of the package. A program that is
    /// started directly uses the directory in which it was built.
    pub(crate) fn find() -> Result<Self, Error> {
        let package =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        match package.parent() {
            Some(root) if root.join("Cargo.toml").is_file() => Ok(Self { root: root.to_path_buf() }),
            _ => Err(Error::unexpected(format!("`{}` is not a package of the workspace", package.display()))),
        }
    }

    /// Returns the directory of the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of the packed modules. It does not depend on `CARGO_TARGET_DIR`,
    /// because crates include the files by this path.
    pub(crate) fn modules(&self) -> PathBuf {
        self.root.join("target/modules")
    }

    /// Returns the directory in which modules are compiled. It is separate from the host's build,
    /// so that a new standard library discards only modules.
    pub(crate) fn modules_build(&self) -> PathBuf {
        self.root.join("target/modules-build")
    }

    /// Returns the directory of the image archive.
    pub(crate) fn image(&self) -> PathBuf {
        self.root.join("target/image")
    }

    /// Returns cargo's target directory for this machine.
    pub(crate) fn target(&self) -> PathBuf {
        let set = env::var_os("CARGO_TARGET_DIR").or_else(|| env::var_os("CARGO_BUILD_TARGET_DIR"));
        self.root.join(set.map_or_else(|| PathBuf::from("target"), PathBuf::from))
    }
}

/// Returns the directory for what is built once for all checkouts: `$XDG_CACHE_HOME/plumbline`, or
/// else `~/.cache/plumbline`.
pub(crate) fn cache() -> Result<PathBuf, Error> {
    cache_from(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))
}

/// Ignores relative paths, as the XDG Base Directory Specification requires.
fn cache_from(xdg: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, Error> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(xdg)
        .or_else(|| absolute(home).map(|home| home.join(".cache")))
        .map(|base| base.join("plumbline"))
        .ok_or(Error::NoCache)
}

/// Returns cargo's home directory, which has the sources of dependencies.
pub(crate) fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
        .filter(|path| path.is_absolute())
}

/// Returns the compiler flags that keep paths of this machine out of the output. So the same source
/// gives the same bytes everywhere.
pub(crate) fn remapped(root: &Path) -> Vec<String> {
    let flag = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags: Vec<String> = cargo_home().iter().map(|home| flag(home, "/cargo")).collect();
    flags.push(flag(root, "/plumbline"));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_of(xdg: &str, home: &str) -> Option<PathBuf> {
        let value = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
        cache_from(value(xdg), value(home)).ok()
    }

    #[test]
    fn the_cache_follows_the_xdg_rules() {
        assert_eq!(cache_of("/x", "/home/u"), Some("/x/plumbline".into()));
        assert_eq!(cache_of("", "/home/u"), Some("/home/u/.cache/plumbline".into()));
        assert_eq!(cache_of("relative", "/home/u"), Some("/home/u/.cache/plumbline".into()));
        assert_eq!(cache_of("", ""), None);
    }
}

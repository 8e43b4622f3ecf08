//! Tools from the npm registry: a compiler of components, a bundler and a type checker for modules in JavaScript and
//! TypeScript, and bats. Everything that they need is locked (`xtask/npm/package-lock.json`) and installed together, once.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::lock::Lock;
use crate::paths;
use crate::process;
use crate::report::say;
use crate::skip;

/// What is installed. The lock names no registry's host: npm takes it from its own configuration.
const PACKAGE: &str = include_str!("../npm/package.json");
const LOCK: &str = include_str!("../npm/package-lock.json");

/// The programs below `node_modules`, each with the variable that tells the tests where it is.
const PROGRAMS: [(&str, &str); 4] = [
    (".bin/jco", "PLUMBLINE_JCO"),
    (".bin/esbuild", "PLUMBLINE_ESBUILD"),
    (".bin/tsc", "PLUMBLINE_TSC"),
    ("bats/bin/bats", "PLUMBLINE_BATS"),
];

/// The variables that tell the tests where the programs are: of those that are named already, in our cache, or installed there now. What
/// cannot be had is left out, with the reason told: the tests then say that they are skipped.
pub(crate) fn ensure() -> Vec<(&'static str, OsString)> {
    let known: Vec<_> = PROGRAMS.iter().filter_map(|(_, variable)| Some((*variable, skip::named(variable)?))).collect();
    if known.len() == PROGRAMS.len() {
        return known;
    }
    match in_cache() {
        Ok(programs) => {
            let program = |name: &str| programs.join(name).into_os_string();
            PROGRAMS
                .iter()
                .map(|(name, variable)| (*variable, skip::named(variable).unwrap_or_else(|| program(name))))
                .collect()
        }
        Err(error) => {
            skip::tell("tools from npm", "modules in JavaScript and TypeScript, and tests with bats", &error);
            known
        }
    }
}

/// The directory of the programs.
fn in_cache() -> Result<PathBuf, Error> {
    let tools = paths::cache()?.join("tools");
    let root = tools.join(format!("npm-{}", version()));
    let programs = root.join("node_modules");
    let _lock = Lock::take(&tools)?;
    if !PROGRAMS.iter().all(|(name, _)| programs.join(name).exists()) {
        say(format_args!("installing jco, esbuild, tsc and bats (about 375 MB) into {}", root.display()));
        if let Err(error) = install(&root) {
            // Half an installation would be taken for a whole one the next time.
            let _ = fs::remove_dir_all(&root);
            return Err(error);
        }
    }
    Ok(programs)
}

/// The lock file is the version of all of it.
fn version() -> String {
    Sha256::digest(LOCK).iter().take(6).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn install(root: &Path) -> Result<(), Error> {
    let failed = |source| Error::unexpected(format!("`{}` cannot be written: {source}", root.display()));
    fs::create_dir_all(root).map_err(failed)?;
    for (name, text) in [("package.json", PACKAGE), ("package-lock.json", LOCK)] {
        fs::write(root.join(name), text).map_err(failed)?;
    }
    // `npm ci` would insist on the optional packages of every other platform, and not every registry has them all. This installs what the lock
    // names, and no other versions. No install script is needed: what they would fetch is in packages of its own for each platform.
    let mut npm = Command::new("npm");
    npm.current_dir(root).args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
    process::output(npm.arg("--loglevel=error"))?;
    // npm may leave a lock that it does not like, and resolve anew.
    let kept = fs::read_to_string(root.join("package-lock.json")).map_err(failed)?;
    if kept == LOCK {
        Ok(())
    } else {
        Err(Error::unexpected("npm installed something else than what is locked".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_locked_is_what_is_asked_for_and_no_host_is_named() {
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let (package, lock) = (parse(PACKAGE), parse(LOCK));
        assert_eq!(lock["packages"][""]["devDependencies"], package["devDependencies"]);
        let packages = lock["packages"].as_object().unwrap();
        assert!(packages.len() > 100);
        assert!(packages.values().all(|package| package.get("resolved").is_none()));
        // What `npm ci` holds the downloads against.
        assert!(packages.iter().all(|(path, package)| path.is_empty() || package.get("integrity").is_some()));
    }
}

//! Tools from the npm registry: a component compiler, a bundler and a type checker for modules in
//! JavaScript and TypeScript, bats, and the reference implementation of CTRF; the libraries of the
//! tests in a browser; and Allure. All dependencies are locked (`package-lock.json`), and those of a
//! package are installed together, once.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::process;
use crate::tools;

/// What is installed together. The lock file does not name a registry, so npm uses the configured
/// one.
struct Package {
    name: &'static str,
    package: &'static str,
    lock: &'static str,
    /// The tools and their size, for the message before the installation.
    what: &'static str,
}

const TOOLS: Package = Package {
    name: "npm",
    package: include_str!("../npm/package.json"),
    lock: include_str!("../npm/package-lock.json"),
    what: "jco, esbuild, tsc, bats and ctrf (about 380 MB)",
};

const INTEROP: Package = Package {
    name: "npm-interop",
    package: include_str!("../interop/package.json"),
    lock: include_str!("../interop/package-lock.json"),
    what: "Allure (about 53 MB)",
};

const BROWSER: Package = Package {
    name: "npm-browser",
    package: include_str!("../browser/package.json"),
    lock: include_str!("../browser/package-lock.json"),
    what: "Playwright and axe (about 14 MB)",
};

/// The programs and libraries below `node_modules`, each with the variable that passes its path to
/// the tests.
const PROGRAMS: [(&str, &str); 5] = [
    (".bin/jco", "PLUMBLINE_JCO"),
    (".bin/esbuild", "PLUMBLINE_ESBUILD"),
    (".bin/tsc", "PLUMBLINE_TSC"),
    ("bats/bin/bats", "PLUMBLINE_BATS"),
    ("ctrf", "PLUMBLINE_CTRF"),
];

/// The variable that passes the path of Allure to the tests.
pub(crate) const ALLURE: &str = "PLUMBLINE_ALLURE";

/// A file that npm writes when everything is installed.
const COMPLETE: &str = "node_modules/.package-lock.json";

/// Returns the variables that pass the programs' paths to the tests. A program comes from its
/// variable if that is set, then from the cache, and is otherwise installed now.
///
/// Programs that are not available are left out, with the reason printed. The tests then report
/// that they are skipped.
pub(crate) fn ensure() -> Vec<(&'static str, OsString)> {
    let known: Vec<_> =
        PROGRAMS.iter().filter_map(|(_, variable)| Some((*variable, tools::named(variable)?))).collect();
    if known.len() == PROGRAMS.len() {
        return known;
    }
    match TOOLS.in_cache() {
        Ok(programs) => {
            let program = |name: &str| programs.join(name).into_os_string();
            PROGRAMS
                .iter()
                .map(|(name, variable)| (*variable, tools::named(variable).unwrap_or_else(|| program(name))))
                .collect()
        }
        Err(error) => {
            tools::report_skipped(
                "tools from npm",
                "modules in JavaScript and TypeScript, and tests with bats and ctrf",
                &error,
            );
            known
        }
    }
}

/// Returns the program of Allure, or `None` with the reason printed.
pub(crate) fn allure() -> Option<OsString> {
    tools::program(ALLURE, "Allure", "the test with it", || Ok(INTEROP.in_cache()?.join(".bin/allure")))
}

/// Returns the `node_modules` of the tests in a browser, or `None` with the reason printed.
pub(crate) fn browser() -> Option<PathBuf> {
    BROWSER.in_cache().inspect_err(|error| tools::report_skipped("tools from npm", "tests in a browser", error)).ok()
}

impl Package {
    /// Returns the directory of the installed packages.
    fn in_cache(&self) -> Result<PathBuf, Error> {
        let doing = format!("installing {}", self.what);
        let name = format!("{}-{}", self.name, self.version());
        Ok(tools::in_cache(&name, COMPLETE, doing, |root| self.install(root))?.join("node_modules"))
    }

    /// Returns a version of the installation: the start of the lock file's digest.
    fn version(&self) -> String {
        Sha256::digest(self.lock).iter().take(6).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    fn install(&self, root: &Path) -> Result<(), Error> {
        let failed = |source| Error::unexpected(format!("`{}` cannot be written: {source}", root.display()));
        fs::create_dir_all(root).map_err(failed)?;
        for (name, text) in [("package.json", self.package), ("package-lock.json", self.lock)] {
            fs::write(root.join(name), text).map_err(failed)?;
        }
        // `npm ci` requires the optional packages of every other platform, and not every registry has
        // them all. `npm install` uses the locked versions and no others. Install scripts are not
        // needed: what they would download is in separate packages for each platform.
        let mut npm = Command::new("npm");
        npm.current_dir(root).args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
        process::output(npm.arg("--loglevel=error"))?;
        // npm may ignore a lock file that it considers invalid, and resolve again.
        let kept = fs::read_to_string(root.join("package-lock.json")).map_err(failed)?;
        if kept == self.lock {
            Ok(())
        } else {
            Err(Error::unexpected("npm installed something else than what is locked".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_matches_the_package_and_names_no_host() {
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        for (tools, least) in [(TOOLS, 100), (BROWSER, 3), (INTEROP, 100)] {
            let (package, lock) = (parse(tools.package), parse(tools.lock));
            assert_eq!(lock["packages"][""]["devDependencies"], package["devDependencies"]);
            let packages = lock["packages"].as_object().unwrap();
            assert!(packages.len() >= least);
            assert!(packages.values().all(|package| package.get("resolved").is_none()));
            // `npm ci` checks downloads against these digests.
            assert!(packages.iter().all(|(path, package)| path.is_empty() || package.get("integrity").is_some()));
        }
    }
}

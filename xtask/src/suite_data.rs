//! `cargo xtask suite-data`: writes the names of the conformance suite's tests, for every minor
//! version of Kubernetes from 1.29 on.
//!
//! It builds `e2e.test` of the newest patch release of each version from its Go module, and runs
//! it. That takes about 4 minutes on two processors and 4 GiB for each version. The output of the
//! program is cached.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::error::Error;
use crate::paths::{self, Workspace};
use crate::process;
use crate::report::print_status;

/// The Go module with the suite.
const MODULE: &str = "k8s.io/kubernetes";
/// The oldest minor version whose suite builds from the module alone.
const OLDEST: u32 = 29;
/// The file with the output of `e2e.test --list-tests`.
const TESTS: &str = "tests.txt";

/// Writes the lists of the profile of Kubernetes, below `plugins/profiles`.
pub(crate) fn write(workspace: &Workspace) -> Result<(), Error> {
    let cache = paths::cache()?.join("suite-data");
    let printed = cache.join("printed");
    create(&printed)?;
    for version in newest_patches(&cache)? {
        let of_version = printed.join(&version);
        // A build that failed is tried again.
        if !of_version.join(TESTS).is_file() {
            print_status(format_args!("building the suite of {version}"));
            ask(&cache, &version, &of_version)?;
        }
    }
    let mut cargo = process::cargo_locked(workspace.root(), "run");
    cargo.args(["--quiet", "-p", "plumbline-conformance", "--example", "suite_data", "--"]).arg(&printed);
    process::run(&mut cargo)
}

fn create(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(Error::io("create", directory))
}

/// Returns a command for Go in `directory`, with the toolchain of this machine.
fn go(directory: &Path, args: &[&str]) -> Command {
    let mut go = Command::new("go");
    go.current_dir(directory).args(args);
    go.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod").env("CGO_ENABLED", "0");
    go
}

/// Returns the newest release of each minor version, such as `v1.37.2`.
fn newest_patches(cache: &Path) -> Result<Vec<String>, Error> {
    let listed = process::output(go(cache, &["list", "-m", "-json", "-versions", MODULE]).env_remove("GOFLAGS"))?;
    let listed: Value = serde_json::from_str(&listed).map_err(|error| Error::unexpected(error.to_string()))?;
    let versions = listed.get("Versions").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    Ok(newest(versions))
}

fn newest<'a>(versions: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut newest: BTreeMap<u32, u32> = BTreeMap::new();
    for version in versions {
        // Skip pre-releases, which have more parts, or parts that are not numbers.
        let parts: Option<Vec<u32>> = version
            .strip_prefix("v1.")
            .map(|rest| rest.split('.'))
            .and_then(|parts| parts.map(|n| n.parse().ok()).collect());
        if let Some(&[minor, patch]) = parts.as_deref()
            && minor >= OLDEST
        {
            let known = newest.entry(minor).or_default();
            *known = patch.max(*known);
        }
    }
    newest.into_iter().map(|(minor, patch)| format!("v1.{minor}.{patch}")).collect()
}

/// Writes to `printed` what is known about the tests of `version`. If the suite's program cannot be
/// built, that is only the required tests.
fn ask(cache: &Path, version: &str, printed: &Path) -> Result<(), Error> {
    let (build, part) = (cache.join("build"), cache.join("part"));
    for directory in [&build, &part] {
        let _ = fs::remove_dir_all(directory);
        create(directory)?;
    }
    let required = module(&build, version)?.join("test/conformance/testdata/conformance.yaml");
    fs::copy(&required, part.join("conformance.yaml")).map_err(Error::io("copy", &required))?;
    match program(&build) {
        Ok(program) => {
            let path = part.join(TESTS);
            let out = File::create(&path).map_err(Error::io("create", &path))?;
            process::run(Command::new(program).current_dir(&build).arg("--list-tests").stdout(out))?;
        }
        Err(error) => print_status(format_args!("no list of all tests of {version}: {error}")),
    }
    // An earlier attempt may have left only the required tests.
    let _ = fs::remove_dir_all(printed);
    // The rename makes the complete directory appear atomically.
    fs::rename(&part, printed).map_err(Error::io("rename", &part))?;
    // The compiled packages of one version are of little use for another, and take gigabytes.
    fs::remove_dir_all(&build).map_err(Error::io("remove", &build))
}

/// Makes `build` a module that requires Kubernetes. Returns the directory of Kubernetes' sources.
fn module(build: &Path, version: &str) -> Result<PathBuf, Error> {
    let write = |name: &str, text: &str| {
        let path = build.join(name);
        fs::write(&path, text).map_err(Error::io("write", &path))
    };
    write("go.mod", "module suite\n")?;
    let download = ["mod", "download", "-json", &format!("{MODULE}@{version}")];
    let download = process::output(go(build, &download).env_remove("GOFLAGS"))?;
    let download: Value = serde_json::from_str(&download).map_err(|error| Error::unexpected(error.to_string()))?;
    let named = |key: &str| {
        let path = download.get(key).and_then(Value::as_str).map(PathBuf::from);
        path.ok_or_else(|| Error::unexpected(format!("`go mod download` names no {key} of {version}")))
    };
    let theirs = named("GoMod")?;
    let theirs = fs::read_to_string(&theirs).map_err(Error::io("read", &theirs))?;
    write("go.mod", &go_mod(version, &theirs, |name| staging(build, name, version)))?;
    write("suite.go", &format!("package suite\n\nimport _ \"{MODULE}/test/e2e\"\n"))?;
    named("Dir")
}

/// Builds the suite's program in the module `build`.
fn program(build: &Path) -> Result<PathBuf, Error> {
    process::output(go(build, &["mod", "tidy", "-e"]).env_remove("GOFLAGS"))?;
    let program = build.join("e2e.test");
    let mut compile = go(build, &["test", "-c", "-vet=off", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o"]);
    compile.arg(&program).arg(format!("{MODULE}/test/e2e")).env("GOCACHE", build.join("cache"));
    process::run_with_output(&mut compile)?;
    Ok(program)
}

/// Returns the version of the staging module `name` for `version` of Kubernetes. That is an earlier patch
/// release if a module proxy refuses it. Most patch releases of these modules have the same sources.
fn staging(build: &Path, name: &str, version: &str) -> String {
    let same = version.replacen("v1.", "v0.", 1);
    let Some((minor, patch)) = same.rsplit_once('.') else { return same };
    let mut earlier = (0..=patch.parse().unwrap_or(0_u32)).rev().map(|patch| format!("{minor}.{patch}"));
    let is_served = |version: &String| {
        let mut download = go(build, &["mod", "download", &format!("{name}@{version}")]);
        process::output(download.env_remove("GOFLAGS")).is_ok()
    };
    earlier.find(is_served).unwrap_or(same)
}

/// Returns a `go.mod` that requires `version`. In the module's own file (`theirs`), some
/// dependencies are directories next to it. They are separate modules, whose version `staging` returns.
fn go_mod(version: &str, theirs: &str, staging: impl Fn(&str) -> String) -> String {
    let mut text = String::from("module suite\n\n");
    for line in theirs.lines().filter(|line| line.starts_with("go ") || line.starts_with("godebug ")) {
        text += &format!("{line}\n");
    }
    text += &format!("require {MODULE} {version}\n");
    for (name, place) in theirs.lines().filter_map(|line| line.split_once("=>")) {
        let name = name.trim().trim_start_matches("replace ");
        if place.trim().starts_with("./staging/") {
            text += &format!("replace {name} => {name} {}\n", staging(name));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_minor_version_the_newest_release_counts() {
        let all = ["v1.28.9", "v1.29.6", "v1.29.10", "v1.30.2", "v1.30.3-rc.0", "v1.31.0-alpha.1", "v2.0.0", "v1.30"];
        assert_eq!(newest(all.into_iter()), ["v1.29.10", "v1.30.2"]);
    }

    #[test]
    fn parts_of_kubernetes_become_modules() {
        let theirs = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tx v1\n)\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n";
        assert_eq!(
            go_mod("v1.37.2", theirs, |_| "v0.37.2".to_owned()),
            "module suite\n\ngo 1.26.0\nrequire k8s.io/kubernetes v1.37.2\nreplace k8s.io/api => k8s.io/api v0.37.2\n"
        );
    }
}

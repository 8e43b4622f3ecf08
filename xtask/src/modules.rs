//! Compiles the modules and packs them as components.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::lock::Lock;
use crate::paths::Workspace;
use crate::process;
use crate::report::print_status;
use crate::target_std::{Target, TargetStd};

/// The packages of the built-in modules.
const STOCK: [&str; 15] = [
    "plumbline-module-junit",
    "plumbline-module-gojson",
    "plumbline-module-tap",
    "plumbline-module-sarif",
    "plumbline-module-ctrf",
    "plumbline-module-items",
    "plumbline-module-raw",
    "plumbline-module-manual",
    "plumbline-module-host-facts",
    "plumbline-module-systemd-logs",
    "plumbline-module-job",
    "plumbline-module-daemonset",
    "plumbline-module-causes",
    "plumbline-module-known-failures",
    "plumbline-module-checks",
];
/// The packages of modules for tests only.
const GUESTS: [&str; 4] = [
    "plumbline-guest-misbehave",
    "plumbline-guest-v0-1-0-post-processor",
    "plumbline-guest-v0-1-0-expectations",
    "plumbline-guest-v0-1-0-summarizer",
];
/// The program that turns core modules into components.
pub(crate) const PACK: &str = "plumbline-module-pack";
/// Its integration test.
pub(crate) const PACK_TEST: &str = "program";
/// The file in the build directory that records the standard library of its contents.
const STD_RECORD: &str = "STD";
/// The files of a packed module, by extension: the component, and its compiled code.
const PARTS: [&str; 2] = ["wasm", "cwasm"];

/// Returns the packages of the built-in modules.
pub(crate) fn built_in() -> impl Iterator<Item = &'static str> {
    STOCK.into_iter()
}

/// Returns the packages of all modules.
pub(crate) fn packages() -> impl Iterator<Item = &'static str> {
    STOCK.into_iter().chain(GUESTS)
}

/// Compiled modules that are not packed yet. Until this is dropped, other processes wait with theirs.
pub(crate) struct CoreModules<'a> {
    workspace: &'a Workspace,
    _lock: Lock,
}

/// Compiles all modules to core modules.
pub(crate) fn compile<'a>(workspace: &'a Workspace, std: &TargetStd) -> Result<CoreModules<'a>, Error> {
    let lock = Lock::take(&workspace.root().join("target"))?;
    print_status("building the modules");
    let build_dir = workspace.modules_build();
    discard_foreign(&build_dir, std.identity())?;
    let mut cargo = process::cargo_locked(workspace.root(), "build");
    cargo.args(["--profile", "module", "--target-dir"]).arg(&build_dir);
    cargo.args(packages().flat_map(|package| ["-p", package]));
    std.apply(&mut cargo, workspace.root());
    process::run_with_output(&mut cargo)?;
    Ok(CoreModules { workspace, _lock: lock })
}

impl CoreModules<'_> {
    /// Packs all modules as components into `modules`, with code for the machine that `packer` runs on.
    /// `packer` returns a command for the program [`PACK`]. Unchanged files are not written, so that
    /// crates that include them are not compiled again.
    pub(crate) fn pack(&self, modules: &Path, packer: impl Fn() -> Result<Command, Error>) -> Result<(), Error> {
        let build_dir = self.workspace.modules_build();
        let cores = build_dir.join(Target::MODULE.triple).join("module");
        let mut all = Vec::new();
        for (packages, directory) in [(&STOCK[..], modules.to_path_buf()), (&GUESTS[..], modules.join("guests"))] {
            let packed = build_dir.join("packed");
            remove_dir(&packed)?;
            fs::create_dir_all(&packed).map_err(Error::io("create", &packed))?;
            let mut pack = packer()?;
            pack.current_dir(self.workspace.root()).arg("--out").arg(&packed);
            pack.args(packages.iter().map(|package| cores.join(core_file(package))));
            process::run_with_output(&mut pack)?;
            let names: Vec<String> = packages.iter().map(|package| component_name(package)).collect();
            synchronise(&packed, &directory, &names)?;
            all.extend(names);
        }
        print_status(format_args!("modules in {}: {}", modules.display(), all.join(", ")));
        Ok(())
    }
}

/// Removes everything that was compiled with another standard library. Cargo does not notice a
/// change if the path is the same.
fn discard_foreign(build_dir: &Path, identity: &str) -> Result<(), Error> {
    let record = build_dir.join(STD_RECORD);
    if fs::read_to_string(&record).is_ok_and(|known| known == identity) {
        return Ok(());
    }
    remove_dir(build_dir)?;
    fs::create_dir_all(build_dir).map_err(Error::io("create", build_dir))?;
    fs::write(&record, identity).map_err(Error::io("write", &record))
}

/// Makes `to` contain exactly the packed modules `names` of `from`. Directories in it are not
/// touched.
fn synchronise(from: &Path, to: &Path, names: &[String]) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    let mut wanted = BTreeSet::new();
    for file in names.iter().flat_map(|name| PARTS.map(|part| format!("{name}.{part}"))) {
        let source = from.join(&file);
        if !source.is_file() {
            return Err(Error::unexpected(format!("`{PACK}` made no `{file}`")));
        }
        copy_if_different(&source, &to.join(&file))?;
        wanted.insert(OsString::from(file));
    }
    for entry in fs::read_dir(to).map_err(Error::io("read", to))? {
        let path = entry.map_err(Error::io("read", to))?.path();
        if path.is_file() && path.file_name().is_some_and(|name| !wanted.contains(name)) {
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Copies the file atomically, so that concurrent readers see the old or the new content.
fn copy_if_different(from: &Path, to: &Path) -> Result<(), Error> {
    let content = fs::read(from).map_err(Error::io("read", from))?;
    if fs::read(to).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let new: PathBuf = to.with_added_extension("new");
    fs::write(&new, content).map_err(Error::io("write", &new))?;
    fs::rename(&new, to).map_err(Error::io("replace", to))
}

fn remove_dir(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", dir)(error)),
        _ => Ok(()),
    }
}

/// Returns the file name of a package's core module.
fn core_file(package: &str) -> String {
    format!("{}.wasm", package.replace('-', "_"))
}

/// Returns the name of a package's packed module.
fn component_name(package: &str) -> String {
    let short = package.strip_prefix("plumbline-module-").or_else(|| package.strip_prefix("plumbline-guest-"));
    short.unwrap_or(package).to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn write(dir: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(dir).unwrap();
        for (name, content) in files {
            fs::write(dir.join(name), content).unwrap();
        }
    }

    #[test]
    fn names_are_those_that_definitions_use() {
        let names: Vec<String> = packages().map(component_name).collect();
        assert_eq!(
            names,
            [
                "junit",
                "gojson",
                "tap",
                "sarif",
                "ctrf",
                "items",
                "raw",
                "manual",
                "host-facts",
                "systemd-logs",
                "job",
                "daemonset",
                "causes",
                "known-failures",
                "checks",
                "misbehave",
                "v0-1-0-post-processor",
                "v0-1-0-expectations",
                "v0-1-0-summarizer"
            ]
        );
        assert_eq!(core_file("plumbline-module-junit"), "plumbline_module_junit.wasm");
    }

    #[test]
    fn unchanged_modules_are_not_touched_and_removed_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("packed"), dir.path().join("modules"));
        write(&from, &[("a.wasm", "one"), ("a.cwasm", "two")]);
        write(&to, &[("a.wasm", "one"), ("a.cwasm", "old"), ("gone.wasm", "x")]);
        write(&to.join("guests"), &[("g.wasm", "x")]);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        for name in ["a.wasm", "a.cwasm"] {
            fs::File::options().write(true).open(to.join(name)).unwrap().set_modified(long_ago).unwrap();
        }

        synchronise(&from, &to, &["a".to_owned()]).unwrap();

        assert_eq!(fs::metadata(to.join("a.wasm")).unwrap().modified().unwrap(), long_ago);
        assert_ne!(fs::metadata(to.join("a.cwasm")).unwrap().modified().unwrap(), long_ago);
        assert_eq!(fs::read_to_string(to.join("a.cwasm")).unwrap(), "two");
        assert!(!to.join("gone.wasm").exists());
        assert!(to.join("guests/g.wasm").exists());
    }

    #[test]
    fn a_module_that_was_not_packed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("packed"), &[("a.wasm", "one")]);
        let error =
            synchronise(&dir.path().join("packed"), &dir.path().join("modules"), &["a".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("`a.cwasm`"), "{error}");
    }

    #[test]
    fn another_standard_library_discards_the_build() {
        let dir = tempfile::tempdir().unwrap();
        let build = dir.path().join("modules-build");
        discard_foreign(&build, "first").unwrap();
        write(&build, &[("kept", "")]);
        discard_foreign(&build, "first").unwrap();
        assert!(build.join("kept").exists());
        discard_foreign(&build, "second").unwrap();
        assert!(!build.join("kept").exists());
    }
}

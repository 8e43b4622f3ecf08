//! Step 4: Debian's packaged Rust, unpacked privately, with a standard library built from its own
//! source.
//!
//! Debian keeps a recent Rust in its security archive for building browsers. The packages
//! `rustc-web` and `rust-web-src` always have the same version, so this works whatever version the
//! machine has. Only modules are compiled with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rustc::Rustc;
use super::store::{Entry, Store, Workshop};
use super::target::Target;
use super::{build, smoke};
use crate::apt::Apt;
use crate::error::Error;
use crate::mirrors::Mirrors;
use crate::process;
use crate::report::print_status;

/// The suites that have the packages and their dependencies.
const SUITES: [&str; 2] = ["bookworm-security", "bookworm"];
const COMPILER: &str = "rustc-web";
const SOURCE: &str = "rust-web-src";
/// The name prefixes of dependencies that are parts of the compiler.
const PARTS: [&str; 2] = ["libstd-rust-web", "libllvm"];

/// Packages that every Debian system has. They must never come from another release than the
/// system's loader.
const OF_THE_SYSTEM: [&str; 4] = ["libc6", "libgcc-s1", "libstdc++6", "gcc-12-base"];

/// Returns the name of the entry in the store. Unlike a standard library, the entry has programs
/// for one host platform.
pub(super) fn entry_name(rustc: &Rustc) -> String {
    format!("{}-debian-rust-{}", rustc.slug(), rustc.host)
}

/// Returns the compiler of an entry in `dir`, and the flags that it needs.
pub(super) fn compiler(machine: &Rustc, dir: &Path) -> Result<(Rustc, Vec<String>), Error> {
    let libraries = shared_libraries(&dir.join("usr/lib"))?;
    let rustc = Rustc::query(dir.join("usr/bin/rustc").into(), Some(libraries))?;
    let linker = machine.rust_lld();
    if !linker.is_file() {
        return Err(Error::unexpected(format!("the toolchain has no `{}` to link modules with", linker.display())));
    }
    Ok((rustc, vec![format!("-Clinker={}", linker.display())]))
}

/// Makes the entry.
pub(super) fn make(machine: &Rustc, store: &Store, workshop: &Workshop<'_>) -> Result<Entry, Error> {
    let scratch = workshop.scratch()?;
    let dir = scratch.path().join("rust");
    let version = fetch(machine, scratch.path(), &dir, store)?;
    let (rustc, flags) = compiler(machine, &dir)?;
    let library = build::find_library(&dir)?;
    let work = scratch.path().join("empty");
    build::standard_library(&rustc, Target::MODULE, &library, &work, &rustc.sysroot)?;
    smoke::test(&rustc, Target::MODULE, &flags, &work)?;
    for part in ["usr/src", "usr/share"] {
        let part = dir.join(part);
        fs::remove_dir_all(&part).map_err(Error::io("remove", &part))?;
    }
    let target = Target::MODULE.libraries(Path::new("usr"));
    workshop.keep(&dir, &entry_name(machine), &format!("{COMPILER} {version}"), &[Path::new("usr/bin"), &target])
}

/// Unpacks the compiler and its source. Returns their version.
fn fetch(machine: &Rustc, scratch: &Path, dir: &Path, store: &Store) -> Result<String, Error> {
    let mirrors = Mirrors::of_this_machine(&scratch.join("no-lists"))?;
    let apt = Apt::open(&scratch.join("apt"), &mirrors, &SUITES)?;
    let sources = apt.versions(SOURCE)?;
    let version = apt.versions(COMPILER)?.into_iter().find(|version| sources.contains(version)).ok_or_else(|| {
        let suites = SUITES.join(", ");
        Error::NoPackage { wanted: format!("{COMPILER} with {SOURCE} of the same version"), tried: vec![suites] }
    })?;
    print_status(format_args!(
        "step 4: {COMPILER} {version} from Debian; nothing is installed on the system, compiler and standard library go to {} \
         (700 MiB)",
        store.place(&entry_name(machine)).display()
    ));
    let needs = apt.closure(COMPILER)?;
    let is_part = |name: &str| PARTS.iter().any(|part| name.starts_with(part));
    let mut packages = vec![format!("{COMPILER}={version}"), format!("{SOURCE}={version}")];
    packages.extend(needs.iter().filter(|name| is_part(name)).map(String::clone));
    apt.unpack(&packages, dir)?;
    add_missing_libraries(&apt, &needs, dir)?;
    Ok(version)
}

/// Adds the libraries of LLVM that are missing on this system. They come from Debian too.
fn add_missing_libraries(apt: &Apt, needs: &[String], dir: &Path) -> Result<(), Error> {
    if missing_libraries(dir)?.is_empty() {
        return Ok(());
    }
    let is_library = |name: &&String| {
        name.starts_with("lib")
            && !name.ends_with("-dev")
            && !OF_THE_SYSTEM.contains(&name.as_str())
            && !PARTS.iter().any(|part| name.starts_with(part))
    };
    let libraries: Vec<&String> = needs.iter().filter(is_library).collect();
    apt.unpack(&libraries, dir)?;
    let missing = missing_libraries(dir)?;
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Error::unexpected(format!("{COMPILER} needs libraries that are not there: {}", missing.join(", "))))
    }
}

/// Returns the shared libraries that the loader does not find for the compiler in `dir`.
fn missing_libraries(dir: &Path) -> Result<Vec<String>, Error> {
    let libraries = shared_libraries(&dir.join("usr/lib"))?;
    let mut command = Command::new("ldd");
    command.env("LC_ALL", "C").env("LD_LIBRARY_PATH", &libraries).arg(dir.join("usr/bin/rustc"));
    Ok(not_found(&process::output(&mut command)?))
}

/// Parses lines such as `libz3.so.4 => not found`.
fn not_found(printed: &str) -> Vec<String> {
    let name = |line: &str| line.trim().strip_suffix("=> not found").map(|name| name.trim().to_owned());
    printed.lines().filter_map(name).collect()
}

/// Returns the directory of the compiler's own library: `usr/lib/TRIPLE`.
fn shared_libraries(lib: &Path) -> Result<PathBuf, Error> {
    let is_driver = |path: &Path| {
        fs::read_dir(path).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("librustc_driver-"))
        })
    };
    let entries = fs::read_dir(lib).map_err(Error::io("read", lib))?;
    let mut dirs = entries.flatten().map(|entry| entry.path());
    dirs.find(|path| is_driver(path))
        .ok_or_else(|| Error::unexpected(format!("found no compiler in `{}`", lib.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_libraries_are_read_from_the_output() {
        let printed = "\tlinux-vdso.so.1 (0x00007f)\n\tlibz3.so.4 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n";
        assert_eq!(not_found(printed), ["libz3.so.4"]);
    }
}

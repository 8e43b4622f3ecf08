//! Compiles the standard library from its source, without network access.

use std::fs;
use std::path::{Path, PathBuf};

use super::rustc::Rustc;
use super::target::Target;
use crate::error::Error;
use crate::process;
use crate::report::print_status;

/// Finds `library/` below an unpacked source package, `usr/src/rustc-VERSION/library`.
pub(super) fn find_library(unpacked: &Path) -> Result<PathBuf, Error> {
    let sources = unpacked.join("usr/src");
    let entries = fs::read_dir(&sources).map_err(Error::io("read", &sources))?;
    let mut found = entries.flatten().map(|entry| entry.path().join("library"));
    found.find(|library| library.join("vendor").is_dir() && library.join("Cargo.lock").is_file()).ok_or_else(|| {
        Error::unexpected(format!("found no Rust source with vendored dependencies in `{}`", sources.display()))
    })
}

/// Builds the standard library in `library` for `target` with `rustc`, and puts it into `sysroot`.
/// `work` is an empty directory for the build.
pub(super) fn standard_library(
    rustc: &Rustc,
    target: Target,
    library: &Path,
    work: &Path,
    sysroot: &Path,
) -> Result<(), Error> {
    let triple = target.triple;
    print_status(format_args!("building the {triple} standard library (a minute or two)"));
    write_empty_crate(work, &library.join("vendor"))?;
    let target_dir = work.join("target");
    let commit = rustc.commit.as_deref().unwrap_or(&rustc.release);
    let flags = [
        // Guests are built with `lto`, which needs the bitcode.
        "-Cembed-bitcode=yes".to_owned(),
        // As in the official builds, keep paths of this machine out of modules.
        format!("--remap-path-prefix={}=/rustc/{commit}/library", library.display()),
    ];
    let mut command = process::cargo(work);
    command
        .args(["build", "--quiet", "--offline", "--release", "--target", triple])
        .arg(format!("-Zbuild-std={}", target.crates))
        .arg("--target-dir")
        .arg(&target_dir)
        // Allows the unstable flag `-Zbuild-std` on a stable toolchain.
        .env("RUSTC_BOOTSTRAP", "1")
        // Tells cargo where the source of the standard library is, instead of in the toolchain.
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", library)
        .env("RUSTC", &rustc.program)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0");
    for variable in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "CARGO_BUILD_RUSTC"] {
        command.env_remove(variable);
    }
    if let Some(libraries) = &rustc.libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    process::run_with_output(&mut command)?;
    copy_libraries(&target_dir.join(triple).join("release/deps"), &target.libraries(sysroot))
}

/// Writes an empty crate, which makes cargo build the standard library.
fn write_empty_crate(dir: &Path, vendor: &Path) -> Result<(), Error> {
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let config = format!(
        "[source.crates-io]\nreplace-with = \"vendored\"\n\n[source.vendored]\ndirectory = {}\n",
        toml_string(&vendor.display().to_string())
    );
    for (name, content) in [("Cargo.toml", manifest), ("src/lib.rs", "#![no_std]\n"), (".cargo/config.toml", &config)] {
        let file = dir.join(name);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        fs::write(&file, content).map_err(Error::io("write", &file))?;
    }
    Ok(())
}

/// Returns a basic string in TOML.
fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Copies `*.rlib` and `*.rmeta`, except those of the empty crate.
fn copy_libraries(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("read", from))? {
        let path = entry.map_err(Error::io("read", from))?.path();
        let is_library = path.extension().is_some_and(|extension| extension == "rlib" || extension == "rmeta");
        let Some(name) = path.file_name().filter(|_| is_library) else { continue };
        if !name.to_string_lossy().starts_with("libempty-") {
            fs::copy(&path, to.join(name)).map_err(Error::io("copy", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_source_with_its_vendored_crates_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        assert!(find_library(dir.path()).is_err());
        let library = dir.path().join("usr/src/rustc-1.95.0/library");
        fs::create_dir_all(&library).unwrap();
        fs::write(library.join("Cargo.lock"), "").unwrap();
        assert!(find_library(dir.path()).is_err());
        fs::create_dir_all(library.join("vendor")).unwrap();
        assert_eq!(find_library(dir.path()).unwrap(), library);
    }

    #[test]
    fn the_libraries_of_std_are_copied_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("deps");
        fs::create_dir_all(&from).unwrap();
        for name in ["libstd-1.rlib", "libstd-1.rmeta", "std-1.d", "libempty-1.rlib", "libempty-1.rmeta"] {
            fs::write(from.join(name), "").unwrap();
        }
        let to = dir.path().join("lib");
        copy_libraries(&from, &to).unwrap();
        let mut names: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["libstd-1.rlib", "libstd-1.rmeta"]);
    }
}

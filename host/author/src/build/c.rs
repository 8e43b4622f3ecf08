//! The build of C modules: a library for WASI preview 1.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::artifact;
use super::step::{Say, run};
use super::tool::{PYTHON, ZIG, on_path};
use crate::project::{AuthorError, Project};

/// Maximum number of sources in one directory.
const MAX_SOURCES: usize = 1_000;
/// The directory of Debian's C library for WASI.
const WASI_LIBC: &str = "/usr/include/wasm32-wasi";

/// A compiler: the program and its first arguments.
struct Compiler {
    program: PathBuf,
    first: &'static [&'static str],
}

pub(super) fn build(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let core = project.build_directory().join(format!("{}.core.wasm", project.name()));
    artifact::clear(&core)?;
    let compiler = compiler(&project.directory).ok_or_else(|| {
        AuthorError::system("no compiler for C is there that makes modules")
            .because("neither zig nor clang with the C library for WASI was found")
            .hint(ZIG.hint)
    })?;
    let sdk = project.sdk();
    let places = [project.directory.join("src"), sdk.clone(), sdk.join("bindings").join(project.world())];
    let mut command = Command::new(&compiler.program);
    command.current_dir(&project.directory).args(compiler.first);
    // Build a library (a reactor), not a program.
    command.args(["-mexec-model=reactor", "-std=c11", "-O2", "-s", "-Wall", "-Wextra"]);
    for place in &places {
        command.arg("-I").arg(place);
    }
    let mut sources = Vec::new();
    for place in &places {
        let found = c_files(place)?;
        if found.is_empty() {
            let what = format!("there are no sources `*.c` in `{}`", place.display());
            let hint = "the author's sources lie in `src/`, the SDK where `sdk` in `module.yaml` says, with bindings for each world";
            return Err(AuthorError::input(what).hint(hint));
        }
        sources.extend(found);
    }
    command.args(sources).arg("-o").arg(&core);
    run(&mut command, say, "the compiler's messages stand above; the SDK's header is `plumbline.h`")?;
    Ok(core)
}

fn compiler(project: &Path) -> Option<Compiler> {
    const CC: &[&str] = &["cc", "-target", "wasm32-wasi"];
    if let Some(program) = ZIG.look(project) {
        return Some(Compiler { program, first: CC });
    }
    if let Some(program) = PYTHON.look(project).filter(|python| has_zig(python)) {
        return Some(Compiler { program, first: &["-m", "ziglang", "cc", "-target", "wasm32-wasi"] });
    }
    let clang = on_path("clang").filter(|_| Path::new(WASI_LIBC).is_dir())?;
    Some(Compiler { program: clang, first: &["--target=wasm32-wasi"] })
}

/// Returns whether zig is installed as a package of this Python.
fn has_zig(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import importlib.util,sys; sys.exit(importlib.util.find_spec('ziglang') is None)"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns why C cannot be compiled on this machine, or `None` if it can.
pub(super) fn missing_compiler(project: &Path) -> Option<String> {
    compiler(project).is_none().then(|| format!("no compiler for C: {}", ZIG.hint))
}

/// Returns the `*.c` files directly in a directory. They are sorted, so that the same sources give
/// the same module.
fn c_files(directory: &Path) -> Result<Vec<PathBuf>, AuthorError> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .take(MAX_SOURCES + 1)
        .collect();
    if files.len() > MAX_SOURCES {
        let what = format!("directory `{}` holds more than {MAX_SOURCES} sources", directory.display());
        return Err(AuthorError::input(what).hint("build it yourself: `command` and `artifact` in `module.yaml`"));
    }
    files.sort();
    Ok(files)
}

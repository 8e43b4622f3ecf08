//! The recipes of the languages other than Rust. Each returns the path of a core module or of a
//! component.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::tool::{COMPONENTIZE_PY, ESBUILD, GO, JCO, NPM, PYTHON, Say, TSC, Tool, ZIG, on_path, remove_old, run};
use super::wasi;
use crate::error::AuthorError;
use crate::project::Project;

pub(super) fn build_own(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let manifest = &project.manifest;
    let (Some((program, arguments)), Some(artifact)) = (manifest.command.split_first(), &manifest.artifact) else {
        return Err(AuthorError::input("`command` and `artifact` of `module.yaml` belong together"));
    };
    // A path with a slash is relative to the project. A bare name is looked up on the path.
    let program = if program.contains('/') { project.directory.join(program) } else { PathBuf::from(program) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&project.directory);
    run(&mut command, say, "it is `command` in `module.yaml`, and runs in the project's directory")?;
    Ok(project.directory.join(artifact))
}

pub(super) fn build_go(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let core = project.build_directory().join(format!("{}.core.wasm", project.name()));
    remove_old(&core)?;
    let mut go = Command::new(GO.find(&project.directory)?);
    // The user's workspace or flags could build a different module from the same sources.
    go.current_dir(&project.directory)
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .env("GOFLAGS", "")
        .env("GOWORK", "off");
    // Build a shared library, which is Go's term for a module without a `main` to run. The tag
    // selects the exports of the world in the SDK.
    let tag = format!("plumbline_{}", project.world().replace('-', "_"));
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-tags", &tag, "-ldflags=-s -w", "-o"]).arg(&core).arg(".");
    run(&mut go, say, "Go 1.24 or later builds modules; `GOOS=wasip1 GOARCH=wasm go vet ./...` may say more")?;
    Ok(core)
}

/// Maximum number of sources in one directory.
const MAX_SOURCES: usize = 1_000;
/// The directory of Debian's C library for WASI.
const WASI_LIBC: &str = "/usr/include/wasm32-wasi";

pub(super) fn build_c(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let core = project.build_directory().join(format!("{}.core.wasm", project.name()));
    remove_old(&core)?;
    let mut command = compiler(&project.directory).ok_or_else(|| {
        AuthorError::system("found no C compiler for modules")
            .because("neither zig nor clang with the C library for WASI was found")
            .hint(ZIG.hint)
    })?;
    let sdk = project.sdk();
    let places = [project.directory.join("src"), sdk.clone(), sdk.join("bindings").join(project.world())];
    command.current_dir(&project.directory);
    // Build a library (a reactor), not a program.
    command.args(["-mexec-model=reactor", "-std=c11", "-O2", "-s", "-Wall", "-Wextra"]);
    for place in &places {
        command.arg("-I").arg(place);
    }
    let mut sources = Vec::new();
    for place in &places {
        let found = c_files(place)?;
        if found.is_empty() {
            let what = format!("found no sources `*.c` in `{}`", place.display());
            let hint = "put your sources into `src/`; `sdk` in `module.yaml` is the directory of the SDK, with bindings for each world";
            return Err(AuthorError::input(what).hint(hint));
        }
        sources.extend(found);
    }
    command.args(sources).arg("-o").arg(&core);
    run(&mut command, say, "see the compiler's messages above; the SDK's header is `plumbline.h`")?;
    Ok(core)
}

/// Returns the compiler with its first arguments, if there is one.
fn compiler(project: &Path) -> Option<Command> {
    let command = |program: PathBuf, first: &[&str]| {
        let mut command = Command::new(program);
        command.args(first);
        command
    };
    if let Some(zig) = ZIG.look(project) {
        return Some(command(zig, &["cc", "-target", "wasm32-wasi"]));
    }
    if let Some(python) = PYTHON.look(project).filter(|python| has_zig(python)) {
        return Some(command(python, &["-m", "ziglang", "cc", "-target", "wasm32-wasi"]));
    }
    let clang = on_path("clang").filter(|_| Path::new(WASI_LIBC).is_dir())?;
    Some(command(clang, &["--target=wasm32-wasi"]))
}

/// Returns whether zig is installed as a package of this Python.
fn has_zig(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import importlib.util,sys; sys.exit(not importlib.util.find_spec('ziglang'))"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(super) fn missing_compiler(project: &Path) -> Option<String> {
    compiler(project).is_none().then(|| format!("found no C compiler: {}", ZIG.hint))
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
        return Err(AuthorError::input(what).hint("set `command` and `artifact` in `module.yaml` to build it yourself"));
    }
    files.sort();
    Ok(files)
}

/// The Python module in the project's directory that implements the role.
const APP: &str = "app";
/// The file with the project's build requirements, for pip.
const REQUIREMENTS: &str = "requirements-dev.txt";

pub(super) fn build_python(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let directory = &project.directory;
    let component = project.build_directory().join(format!("{}.component.wasm", project.name()));
    remove_old(&component)?;
    let tool = match COMPONENTIZE_PY.look(directory) {
        Some(tool) => tool,
        None => install_componentize_py(directory, say)?,
    };
    let mut command = Command::new(tool);
    // Packages in the user's environment would become part of the module.
    command.current_dir(directory).env_remove("VIRTUAL_ENV").env_remove("PYTHONPATH");
    // Without the stub, the component would import sockets, and the host would reject it.
    let world = wasi::world(project, true)?;
    command.args(["--quiet", "-d"]).arg(&world.directory).args(["-w", world.name]);
    command.args(["componentize", "--stub-wasi", "-p", ".", "-p"]).arg(project.sdk());
    command.arg("-o").arg(&component).arg(APP);
    run(&mut command, say, "the module is `app.py` of the project; what it imports must be pure Python")?;
    if wasi::is_check(project) {
        wasi::restore(&component)?;
    }
    Ok(component)
}

/// Creates a virtual environment in the project, with the version of componentize-py that it
/// requires.
fn install_componentize_py(directory: &Path, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    if !directory.join(REQUIREMENTS).is_file() {
        return COMPONENTIZE_PY.find(directory);
    }
    let venv = directory.join(".venv");
    let mut python = Command::new(PYTHON.find(directory)?);
    python.current_dir(directory).args(["-m", "venv"]).arg(&venv);
    run(&mut python, say, "Debian: `apt-get install python3-venv`")?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.current_dir(directory).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        REQUIREMENTS,
    ]);
    run(&mut pip, say, "give pip access to its index, or set `PLUMBLINE_COMPONENTIZE_PY` to the tool")?;
    COMPONENTIZE_PY.find(directory)
}

const NPM_HINT: &str = "the tools come with the project's `package.json`: `npm install`, then build again";

pub(super) fn build_javascript(project: &Project, entry: &str, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let directory = &project.directory;
    let name = project.name();
    let (bundle, component) = (
        project.build_directory().join(format!("{name}.js")),
        project.build_directory().join(format!("{name}.component.wasm")),
    );
    remove_old(&bundle)?;
    remove_old(&component)?;
    if !has_tools(directory) {
        install_npm_packages(directory, say)?;
    }
    if entry.ends_with(".ts") {
        check_types(directory, say)?;
    }
    let esbuild = ESBUILD.named().or_else(esbuild_next_to_jco);
    let mut esbuild = Command::new(esbuild.map_or_else(|| ESBUILD.find(directory), Ok)?);
    // The bundler strips types without checking them.
    esbuild.current_dir(directory).arg(entry);
    esbuild.args(["--bundle", "--format=esm", "--platform=neutral", "--target=es2023", "--conditions=plumbline"]);
    esbuild.args(["--external:plumbline:*", "--external:wasi:*", "--log-level=warning"]);
    esbuild.arg(joined("--outfile=", &bundle));
    run(&mut esbuild, say, NPM_HINT)?;
    let mut jco = Command::new(JCO.find(directory)?);
    let world = wasi::world(project, false)?;
    jco.current_dir(directory).arg("componentize").arg(&bundle).arg("--wit").arg(&world.directory);
    // Use the small engine. The component model's own async is disabled, so that hosts need not
    // support it.
    jco.args(["--world-name", world.name, "--backend", "qjs", "--backend-qjs-disable-async"]);
    if !wasi::is_check(project) {
        jco.arg("--backend-qjs-stub-wasi");
    }
    jco.arg("--out").arg(&component);
    run(&mut jco, say, NPM_HINT)?;
    Ok(component)
}

/// Runs the project's type checker with its `tsconfig.json`. If one of them is missing, it prints a
/// warning that types are not checked.
fn check_types(directory: &Path, say: Say<'_>) -> Result<(), AuthorError> {
    let config = directory.join("tsconfig.json");
    let Some(tsc) = TSC.named().or_else(|| TSC.in_project(directory)).filter(|_| config.is_file()) else {
        say("warning: types are not checked: that takes a `tsconfig.json`, and `typescript` in `devDependencies`");
        return Ok(());
    };
    let mut command = Command::new(&tsc);
    command.current_dir(directory).args(["--noEmit", "--project", "."]);
    if TSC.named().is_some() {
        // A type checker outside of the project has its types next to it.
        command.arg("--typeRoots").arg(tsc.with_file_name("../@types"));
    }
    run(&mut command, say, "correct the types; `tsconfig.json` says how strict they are")
}

fn has_tools(directory: &Path) -> bool {
    let there = |tool: Tool| tool.named().is_some() || tool.in_project(directory).is_some();
    there(JCO) && (there(ESBUILD) || esbuild_next_to_jco().is_some())
}

/// Installs the tools that `package.json` lists into the project. Install scripts are disabled,
/// because no tool needs them.
fn install_npm_packages(directory: &Path, say: Say<'_>) -> Result<(), AuthorError> {
    let mut npm = Command::new(NPM.find(directory)?);
    // With a lock file, install exactly the versions in it.
    let locked = directory.join("package-lock.json").is_file();
    npm.current_dir(directory).arg(if locked { "ci" } else { "install" });
    npm.args(["--ignore-scripts", "--no-audit", "--no-fund"]);
    run(&mut npm, say, "give npm access to its registry, or set `PLUMBLINE_JCO` and `PLUMBLINE_ESBUILD` to the tools")
}

/// Returns the `esbuild` that is installed next to `jco`, if a variable names `jco`.
fn esbuild_next_to_jco() -> Option<PathBuf> {
    JCO.named().map(|jco| jco.with_file_name(ESBUILD.name)).filter(|esbuild| esbuild.is_file())
}

/// Returns the tool that must be present to bundle. If esbuild is next to jco, that is jco alone.
pub(super) fn bundler() -> Tool {
    if esbuild_next_to_jco().is_some() { JCO } else { ESBUILD }
}

fn joined(flag: &str, path: &Path) -> std::ffi::OsString {
    let mut joined = std::ffi::OsString::from(flag);
    joined.push(path);
    joined
}

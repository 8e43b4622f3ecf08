//! Shared helpers of the tests: a host, hand-written projects and core modules.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use plumbline_aggregator::LimitPolicy;
use plumbline_author::check::{Checked, Finding, Host, Level};
use plumbline_author::{AuthorError, Built, Project, build};
use plumbline_sandbox::{Module, Sandbox, SandboxConfig};

/// Returns one sandbox with the built-in modules for all tests. Compiled code is cached between
/// test runs.
pub(crate) fn host() -> &'static (Sandbox, Vec<Module>) {
    static HOST: OnceLock<(Sandbox, Vec<Module>)> = OnceLock::new();
    HOST.get_or_init(|| {
        let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("author-cache"));
        let sandbox = Sandbox::new(SandboxConfig { cache_dir, ..SandboxConfig::default() }).unwrap();
        let built_in = plumbline_bundle::built_in::load(&sandbox).unwrap();
        (sandbox, built_in)
    })
}

/// Checks a path with the host above.
pub(crate) fn check(path: &Path) -> Result<Checked, AuthorError> {
    let (sandbox, built_in) = host();
    let limits = LimitPolicy::default();
    let built_in = built_in.iter().map(Module::info).collect();
    plumbline_author::check(path, &Host { sandbox, built_in, limits: &limits })
}

/// Returns findings as lines, each with its level.
pub(crate) fn lines(checked: &Checked) -> Vec<String> {
    let line = |finding: &Finding| {
        let word = if finding.level == Level::Error { "error" } else { "warning" };
        format!("{word}: {}: {}", finding.place, finding.what)
    };
    checked.findings.iter().map(line).collect()
}

/// Builds a project, with its messages on the test's output.
pub(crate) fn built(directory: &Path) -> Result<Built, AuthorError> {
    let project = Project::open(directory)?;
    build(&project, &host().0, &mut |line| eprintln!("{line}"))
}

/// Writes files below a directory.
pub(crate) fn write(directory: &Path, files: &[(&str, &[u8])]) {
    for (name, content) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns a core module without types that implements the role of a post-processor, with
/// additional imports and functions.
pub(crate) fn core(more: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
            {more}
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "plumbline:plugin/post-processor@0.1.0#process")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                (i32.const 16)))"#
    );
    wat::parse_str(wat).unwrap()
}

/// `module.yaml` of a project whose own build copies `made.wasm`.
pub(crate) const COPIES: &str = "
name: tally
language: c
default-files: ['**/*.tally']
command: [cp, src/made.wasm, build/tally.core.wasm]
artifact: build/tally.core.wasm
";

/// A definition with the result format `tally`.
pub(crate) const TALLY: &str = "
sonobuoy-config: {plugin-name: tally, driver: Process, result-format: tally}
spec: {name: plugin, command: [./check.sh]}
";

/// Creates a project with that build, and a plugin with a program.
pub(crate) fn project(made: &[u8]) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 4] = [
        ("module.yaml", COPIES.as_bytes()),
        ("plugin.yaml", TALLY.as_bytes()),
        ("src/made.wasm", made),
        ("check.sh", b"#!/bin/sh\n"),
    ];
    write(dir.path(), &files);
    fs::create_dir_all(dir.path().join("sdk/c")).unwrap();
    fs::set_permissions(dir.path().join("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

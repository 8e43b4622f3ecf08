//! What the tests share: a host, projects by hand, core modules by hand.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use plumbline_aggregator::LimitPolicy;
use plumbline_author::check::{Checked, Finding, Host, Level};
use plumbline_author::{AuthorError, Built, Project, build};
use plumbline_sandbox::{Module, Sandbox, SandboxConfig};

/// One sandbox with the built-in modules for all tests. What is compiled is kept between runs of the tests.
pub(crate) fn host() -> &'static (Sandbox, Vec<Module>) {
    static HOST: OnceLock<(Sandbox, Vec<Module>)> = OnceLock::new();
    HOST.get_or_init(|| {
        let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("author-cache"));
        let sandbox = Sandbox::new(SandboxConfig { cache_dir, ..SandboxConfig::default() }).unwrap();
        let built_in = plumbline_bundle::built_in::load(&sandbox).unwrap();
        (sandbox, built_in)
    })
}

/// Checks a path as the host above.
pub(crate) fn check(path: &Path) -> Result<Checked, AuthorError> {
    let (sandbox, built_in) = host();
    let limits = LimitPolicy::default();
    let built_in = built_in.iter().map(Module::info).collect();
    plumbline_author::check(path, &Host { sandbox, built_in, limits: &limits })
}

/// Findings as lines, errors first marked.
pub(crate) fn lines(checked: &Checked) -> Vec<String> {
    let line = |finding: &Finding| {
        let word = if finding.level == Level::Error { "error" } else { "warning" };
        format!("{word}: {}: {}", finding.place, finding.what)
    };
    checked.findings.iter().map(line).collect()
}

/// Builds a project; what it said goes where the test's output goes.
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

/// A core module without types that plays the role of a post-processor, with these imports and functions more.
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

/// A definition that reads with the format `tally`.
pub(crate) const TALLY: &str = "
sonobuoy-config: {plugin-name: tally, driver: Process, result-format: tally}
spec: {name: plugin, command: [./check.sh]}
";

/// A project with that build, and a plugin with a program.
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

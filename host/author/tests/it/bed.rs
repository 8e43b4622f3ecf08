//! A test project in a temporary directory, and hand-written modules.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_aggregator::{LimitPolicy, Modules};
use plumbline_author::AuthorError;
use plumbline_author::golden::{self, Bless, Project, Report, Runner};
use plumbline_sandbox::componentize::component;
use tempfile::TempDir;

use crate::support::host;

/// Returns modules that have not read any bundle yet.
pub(crate) fn modules() -> Modules {
    let (sandbox, built_in) = host();
    Modules::new(sandbox.clone(), built_in.clone())
}

/// Returns a component whose `process` runs `body` for the first file, whose size is in `$size`. It
/// then emits one item named `item`.
pub(crate) fn handmade(body: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
            (import "plumbline:plugin/output@0.1.0" "emit" (func $emit (param i32 i32)))
            (import "plumbline:plugin/input@0.1.0" "[method]file.size" (func $size (param i32) (result i64)))
            (memory (export "memory") 4)
            (global $next (mut i32) (i32.const 4096))
            (data (i32.const 64) "no")
            (data (i32.const 68) "item")
            (data (i32.const 516) "\44\00\00\00\04\00\00\00")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "plumbline:plugin/post-processor@0.1.0#process")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                (local $size i64)
                (local.set $size (call $size (i32.load (local.get 9))))
                {body}
                (call $emit (i32.const 512) (i32.const 1))
                (i32.const 2048)))"#
    );
    component(&wat::parse_str(wat).unwrap(), Some("post-processor-module"), None).unwrap()
}

/// Code that returns `Err("no")`. The result, a variant with its text, is at address 2048.
pub(crate) const REFUSE: &str = "(i32.store8 (i32.const 2048) (i32.const 1)) (i32.store (i32.const 2052) (i32.const 64)) (i32.store (i32.const 2056) (i32.const 2))";

pub(crate) struct Bed {
    pub(crate) dir: TempDir,
}

impl Bed {
    /// Creates a plugin with this format. `rest` is further YAML.
    pub(crate) fn new(format: &str, rest: &str) -> Self {
        let bed = Self { dir: tempfile::tempdir().unwrap() };
        bed.write(
            "plugin.yaml",
            format!("sonobuoy-config:\n  plugin-name: p\n  driver: Job\n  result-format: {format}\nspec:\n  name: plugin\n{rest}"),
        );
        bed
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn project(&self) -> Project {
        Project::open(self.dir.path()).unwrap()
    }

    /// Runs the cases with these names, or all.
    pub(crate) fn run(&self, names: &[&str], bless: bool) -> Result<Report, AuthorError> {
        let project = self.project();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let cases = golden::find(&project, &names)?;
        let (modules, limits) = (modules(), LimitPolicy::default());
        let bless = if bless { Bless::Results } else { Bless::Nothing };
        Ok(golden::run(&project, &cases, &Runner { bless, ..Runner::new(&modules, &limits) }))
    }

    /// Runs all cases, with the default settings modified by `change`.
    pub(crate) fn run_with(&self, change: impl Fn(&mut Runner<'_>)) -> Report {
        let project = self.project();
        let cases = golden::find(&project, &[]).unwrap();
        let (modules, limits) = (modules(), LimitPolicy::default());
        let mut runner = Runner::new(&modules, &limits);
        change(&mut runner);
        golden::run(&project, &cases, &runner)
    }

    /// Returns the outcome of each case as a word.
    pub(crate) fn words(&self, bless: bool) -> Vec<(String, &'static str)> {
        let report = self.run(&[], bless).unwrap();
        report.cases.iter().map(|case| (case.name.clone(), case.result.word())).collect()
    }
}

/// Returns the root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

//! Runs one measurement in a separate process, so that its memory usage is its own.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use plumbline_core::ModuleLimits;
use plumbline_dev::Result;
use plumbline_sandbox::{InputFile, Sandbox, SandboxConfig};

use crate::bench::call::call;

/// The measurement of a child process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Time of the work itself in seconds.
    pub(crate) seconds: f64,
    /// Number of items, to check that the work was done.
    pub(crate) items: u64,
    /// Peak resident memory in KiB.
    pub(crate) peak_kib: u64,
}

/// Runs one measurement in a new process of this program.
pub(crate) fn spawn(words: &[&str]) -> Result<Measured> {
    let output = Command::new(std::env::current_exe()?).args(["bench", "--child"]).args(words).output()?;
    parse(&output, words.first().unwrap_or(&""))
}

/// Parses the output of a program: seconds, items, KiB.
pub(crate) fn parse(output: &std::process::Output, what: &str) -> Result<Measured> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let mut next =
        || words.next().ok_or_else(|| format!("`{what}` failed: {}", String::from_utf8_lossy(&output.stderr)));
    Ok(Measured { seconds: next()?.parse()?, items: next()?.parse()?, peak_kib: next()?.parse()? })
}

/// Measures only the decoding: the built-in module, or the one in a file, in the sandbox with all
/// limits.
pub(crate) fn sandbox(file: &Path, module: Option<&Path>) -> Result<(f64, u64)> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let module = match module {
        Some(path) => sandbox.load("junit", &fs::read(path)?)?,
        None => {
            // As in the program, the other modules are inspected, but not loaded.
            let built_in = plumbline_bundle::built_in::accept(&sandbox)?;
            built_in.into_iter().find(|module| module.name() == "junit").ok_or("no module `junit`")?.load()?
        }
    };
    let path = file.to_owned();
    let files = vec![InputFile {
        path: "results/global/junit.xml".into(),
        size: file.metadata()?.len(),
        open: Box::new(move || File::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>)),
    }];
    let called = call(&module, files, &ModuleLimits::default())?;
    Ok((called.seconds, called.items))
}

/// Measures the whole way from the file to the result tree on disk.
pub(crate) fn tree(dir: &Path) -> Result<(f64, u64)> {
    use plumbline_aggregator::{LimitPolicy, Modules, Source, post_process, prepare};
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let modules = Modules::new(sandbox.clone(), plumbline_bundle::built_in::accept(&sandbox)?);
    let yaml = "{sonobuoy-config: {plugin-name: bench, driver: Job, result-format: junit}, spec: {}}";
    let definition = plumbline_core::Definition::parse(yaml)?.definition;
    let source = Source { definition: std::sync::Arc::new(definition), bundle: None };
    let plugin = prepare(&modules, &LimitPolicy::default(), source)?;
    let scratch = tempfile::tempdir_in(dir)?;
    let start = Instant::now();
    let tree = dir.join("tree.yaml");
    let outcome = post_process(&plugin.subject(), dir, &plugin.post_processor, scratch.path(), &tree)?;
    Ok((start.elapsed().as_secs_f64(), outcome.items))
}

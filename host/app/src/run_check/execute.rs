//! Loads the component of a check and calls it.

use std::io;
use std::path::Path;
use std::time::Instant;

use plumbline_core::{CheckRun, Digest, FlatItem, ModuleLimits};
use plumbline_kubernetes::manifest::{MAX_MODULE_BYTES, unpack_modules};
use plumbline_sandbox::{
    CheckProgress, CheckSink, ClusterReader, ItemSink, LogLevel, LogSink, Module, PluginInfo, RunCheck,
};
use serde_json::Value;
use tokio::sync::watch;

use super::objects::GrantedObjects;
use super::output::{Failure, Output};
use super::rights::{all_granted, directories, variables};
use crate::{files, modules};

/// Runs the check and returns why it failed, if it did. Blocks until it has ended.
pub(super) fn execute(
    check: &CheckRun,
    output: &Output,
    report: watch::Sender<Option<CheckProgress>>,
) -> Option<Failure> {
    call(check, output, report).err()
}

fn call(check: &CheckRun, output: &Output, report: watch::Sender<Option<CheckProgress>>) -> Result<(), Failure> {
    let start = Instant::now();
    let module = load(check)?;
    let left = check.limits.wall_seconds.saturating_sub(start.elapsed().as_secs()).max(1);
    let limits = ModuleLimits { wall_seconds: left, ..check.limits.clone() };
    let plugin = PluginInfo {
        name: check.plugin.clone(),
        driver: check.driver.clone(),
        format: check.format.clone(),
        expected_results: check.expected_results,
        options: Value::Object(check.options.clone()),
    };
    let reads_objects = !check.grants.kubernetes.is_empty();
    let call = RunCheck {
        plugin: &plugin,
        directories: directories(check),
        env: variables(check, |name| std::env::var(name).ok()),
        cluster: reads_objects.then(|| Box::new(GrantedObjects::new(check.grants.clone())) as Box<dyn ClusterReader>),
        limits: &limits,
    };
    let stats = module
        .run_check(call, &mut Sink { output, report }, &mut Log)
        .map_err(|failure| Failure::of(failure.to_string()).with("hint", failure.hint().map(str::to_owned)))?;
    tracing::info!(items = stats.items, memory = stats.memory, "the check is complete after {:.3?}", stats.wall);
    Ok(())
}

/// Reads, checks and compiles the component. It has all rights that it needs.
fn load(check: &CheckRun) -> Result<Module, Failure> {
    let (name, bytes) = read(&check.component)?;
    if check.digest.is_some_and(|digest| digest != Digest::of(&bytes)) {
        return Err(Failure::of("the check is not the one that the aggregator sent: its ConfigMaps were changed"));
    }
    // A pod has no directory that outlives it.
    let cached = check.root.is_empty();
    let sandbox = modules::check_sandbox(&check.limits, cached).map_err(|error| Failure::because(&error))?;
    let unusable = |error: &dyn std::error::Error| Failure::of(format!("failed to load the check: {error}"));
    let accepted = sandbox.accept(&name, bytes).map_err(|error| unusable(&error))?;
    all_granted(check, accepted.info())?;
    accepted.load().map_err(|error| unusable(&error))
}

/// Reads the component from its file, or from the chunks in a directory. Returns it with its name.
fn read(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let stem = |file: &str| file.strip_suffix(".wasm").unwrap_or(file).to_owned();
    if !path.is_dir() {
        let what = format!("failed to read the check `{}`", path.display());
        let bytes = files::read_bytes(path, MAX_MODULE_BYTES, &what);
        let bytes = bytes.map_err(|error| Failure::because(&error))?;
        return Ok((stem(&path.file_name().unwrap_or_default().to_string_lossy()), bytes));
    }
    let unpacked = unpack_modules(path).map_err(|error| Failure::of(format!("failed to read the check: {error}")))?;
    let mut found = unpacked.into_values().flatten();
    match (found.next(), found.next()) {
        (Some((file, bytes)), None) => Ok((stem(&file), bytes)),
        _ => Err(Failure::of(format!("expected the chunks of one check in `{}`", path.display()))),
    }
}

/// Receives the output of a check.
struct Sink<'a> {
    output: &'a Output,
    report: watch::Sender<Option<CheckProgress>>,
}

impl ItemSink for Sink<'_> {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.output.item(&item)
    }
}

impl CheckSink for Sink<'_> {
    fn progress(&mut self, progress: CheckProgress) -> io::Result<()> {
        self.report.send_replace(Some(progress));
        Ok(())
    }
}

/// Writes the log of a check to the log of this process.
struct Log;

impl LogSink for Log {
    fn line(&mut self, level: LogLevel, text: &str) {
        match level {
            LogLevel::Debug => tracing::debug!("{text}"),
            LogLevel::Info => tracing::info!("{text}"),
            LogLevel::Warning => tracing::warn!("{text}"),
            LogLevel::Error => tracing::error!("{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumbline_core::{Definition, ModuleLimits};

    use super::*;

    #[test]
    fn another_component_than_the_one_that_was_sent_does_not_run() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"another component").unwrap();
        let yaml = "sonobuoy-config: {driver: Job, plugin-name: p}\nplumbline: {component: c.wasm}\n";
        let definition = Definition::parse(yaml).unwrap().definition;
        let mut check = CheckRun::new(&definition, file.path().to_owned(), 1, ModuleLimits::default());
        check.digest = Some(Digest::of(b"component"));
        let failure = load(&check).unwrap_err();
        assert!(format!("{failure:?}").contains("ConfigMaps were changed"), "{failure:?}");
    }
}

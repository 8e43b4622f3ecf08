//! Loads the component of a check and calls it.

use std::io;
use std::path::Path;
use std::time::Instant;

use plumbline_core::{CheckRun, CompiledCode, Digest, FlatItem, ModuleLimits};
use plumbline_kubernetes::chunks::{MAX_MODULE_BYTES, unpack_files};
use plumbline_sandbox::{
    Accepted, CheckFailure, CheckProgress, CheckSink, ClusterReader, Directory, ItemSink, LoadError, LogLevel, LogSink,
    Module, ModuleInfo, Network, PluginInfo, RunCheck, Sandbox, code_target,
};
use serde_json::Value;
use tokio::sync::watch;

use super::network::GrantedNetwork;
use super::objects::GrantedObjects;
use super::output::{Output, because};
use crate::{files, modules};

/// Runs the check. Blocks until it has ended.
pub(super) fn execute(
    check: &CheckRun,
    output: &Output,
    report: watch::Sender<Option<CheckProgress>>,
) -> Result<(), CheckFailure> {
    let start = Instant::now();
    let module = load(check, start)?;
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
    let network = GrantedNetwork::new(&check.grants);
    let call = RunCheck {
        plugin: &plugin,
        directories: directories(check),
        env: variables(check, |name| std::env::var(name).ok()),
        now: None,
        cluster: reads_objects.then(|| Box::new(GrantedObjects::new(check.grants.clone())) as Box<dyn ClusterReader>),
        owners: None,
        network: network.map(|network| Box::new(network) as Box<dyn Network>),
        limits: &limits,
    };
    let stats = module
        .run_check(call, &mut Sink { output, report }, &mut Log)
        .map_err(|failure| CheckFailure::of(failure.to_string()).with("hint", failure.hint().map(str::to_owned)))?;
    tracing::info!(items = stats.items, memory = stats.memory, "the check is complete after {:.3?}", stats.wall);
    Ok(())
}

/// Reads, checks and loads the component. It has all rights that it needs.
fn load(check: &CheckRun, start: Instant) -> Result<Module, CheckFailure> {
    let (name, bytes) = read(check)?;
    if check.digest.is_some_and(|digest| digest != Digest::of(&bytes)) {
        return Err(CheckFailure::of("the check is not the one that the aggregator sent: its ConfigMaps were changed"));
    }
    // A pod has no directory that outlives it.
    let cached = check.root.is_empty();
    let sandbox = modules::check_sandbox(&check.limits, cached).map_err(|error| because(&error))?;
    let unusable = |error: &dyn std::error::Error| CheckFailure::of(format!("failed to load the check: {error}"));
    let accepted = sandbox.accept(&name, bytes).map_err(|error| unusable(&error))?;
    all_granted(check, accepted.info())?;
    let module = match &check.code {
        Some(code) if code.target == code_target() => with_code(accepted, code, &check.component)?,
        Some(code) => {
            tracing::info!("the compiled code of the check is for another platform: {}", code.target);
            accepted.load().map_err(|error| unusable(&error))?
        }
        None => accepted.load().map_err(|error| unusable(&error))?,
    };
    tracing::info!("loaded the check in {:.1?}: {}", start.elapsed(), origin(&sandbox));
    Ok(module)
}

/// Loads the component with its compiled code, which is among the chunks in `directory`.
fn with_code(accepted: Accepted, code: &CompiledCode, directory: &Path) -> Result<Module, CheckFailure> {
    let changed = || {
        CheckFailure::of(
            "the compiled code of the check is not the one that the aggregator sent: its ConfigMaps were changed",
        )
    };
    let (_, bytes) = unpack(directory, |file| file == code.file)?.ok_or_else(changed)?;
    // This process got the digest with its command, from the pod that the aggregator created.
    accepted.load_carried(&bytes, &code.digest).map_err(|error| match error {
        LoadError::CodeChanged(_) => changed(),
        error => CheckFailure::of(format!("failed to load the check: {error}")),
    })
}

/// Returns where the code came from, for the log.
fn origin(sandbox: &Sandbox) -> &'static str {
    let stats = sandbox.stats();
    match (stats.precompiled, stats.cached) {
        (0, 0) => "compiled here",
        (0, _) => "compiled before, from the cache",
        _ => "compiled by the aggregator",
    }
}

/// Reads the component from its file, or from the chunks in a directory. Returns it with its name.
fn read(check: &CheckRun) -> Result<(String, Vec<u8>), CheckFailure> {
    let path = check.component.as_path();
    let stem = |file: &str| file.strip_suffix(".wasm").unwrap_or(file).to_owned();
    if !path.is_dir() {
        let what = format!("failed to read the check `{}`", path.display());
        let bytes = files::read_bytes(path, MAX_MODULE_BYTES, &what);
        let bytes = bytes.map_err(|error| because(&error))?;
        return Ok((stem(&path.file_name().unwrap_or_default().to_string_lossy()), bytes));
    }
    let is_code = |file: &str| check.code.as_ref().is_some_and(|code| code.file == file);
    let found = unpack(path, |file| !is_code(file))?;
    found
        .map(|(file, bytes)| (stem(&file), bytes))
        .ok_or_else(|| CheckFailure::of(format!("expected the chunks of one check in `{}`", path.display())))
}

/// Joins the chunks of the only file in `directory` with a `wanted` name. Returns `None` if there is
/// none, or more than one.
fn unpack(directory: &Path, wanted: impl Fn(&str) -> bool) -> Result<Option<(String, Vec<u8>)>, CheckFailure> {
    let unpacked = unpack_files(directory, wanted);
    let unpacked = unpacked.map_err(|error| CheckFailure::of(format!("failed to read the check: {error}")))?;
    let mut found = unpacked.into_values().flatten();
    Ok(found.next().filter(|_| found.next().is_none()))
}

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

/// Checks that the definition grants all rights that the component needs.
fn all_granted(check: &CheckRun, info: &ModuleInfo) -> Result<(), CheckFailure> {
    let missing = info.rights.missing(&check.grants);
    if missing.is_empty() {
        return Ok(());
    }
    Err(CheckFailure::of(format!("the check needs rights that the definition does not grant: {missing}"))
        .with("add-to-definition", Some(missing.to_yaml())))
}

/// Returns the granted directories that exist on this node, also those that cannot be opened. A missing
/// one is logged, because a check may look at what only some nodes have.
fn directories(check: &CheckRun) -> Vec<Directory> {
    let source = |path: &String| match Directory::of_node(Path::new(&check.root), path) {
        Ok(directory) => Some(directory),
        Err(reason) => {
            tracing::info!("the check does not see the directory `{path}`: {reason}");
            None
        }
    };
    check.grants.files.iter().filter_map(source).collect()
}

/// Returns the granted variables that are set.
fn variables(check: &CheckRun, value: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    check.grants.env.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use plumbline_core::Definition;

    use super::*;

    #[test]
    fn another_component_than_the_one_that_was_sent_does_not_run() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"another component").unwrap();
        let yaml = "sonobuoy-config: {driver: Job, plugin-name: p}\nplumbline: {component: c.wasm}\n";
        let definition = Definition::parse(yaml).unwrap().definition;
        let mut check = CheckRun::new(&definition, file.path().to_owned(), 1, ModuleLimits::default());
        check.digest = Some(Digest::of(b"component"));
        let failure = load(&check, Instant::now()).unwrap_err();
        assert!(format!("{failure:?}").contains("ConfigMaps were changed"), "{failure:?}");
    }

    fn check(grants: &str, root: &Path) -> CheckRun {
        let yaml = format!(
            "sonobuoy-config: {{driver: DaemonSet, plugin-name: p}}\nplumbline: {{component: c.wasm, grants: {grants}}}\n"
        );
        let definition = Definition::parse(&yaml).unwrap().definition;
        let mut check = CheckRun::new(&definition, "/c.wasm".into(), 1, ModuleLimits::default());
        check.root = root.display().to_string();
        check
    }

    #[test]
    fn directories_are_those_of_the_node_and_links_do_not_lead_into_the_container() {
        let node = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(node.path().join("etc/kubernetes")).unwrap();
        std::fs::create_dir_all(node.path().join("var")).unwrap();
        std::fs::write(node.path().join("etc/hostname"), "n1").unwrap();
        std::os::unix::fs::symlink("/proc", node.path().join("var/run")).unwrap();
        let grants = "{files: [/etc/kubernetes, /etc/hostname, /var/run, /var/run/self, /opt/none]}";
        let found = directories(&check(grants, node.path()));
        // In all but the first, the sandbox permits nothing.
        let wanted = ["/etc/kubernetes", "/etc/hostname", "/var/run", "/var/run/self"].map(|path| Directory {
            path: path.to_owned(),
            source: node.path().join(path.trim_start_matches('/')),
            root: Some(node.path().to_owned()),
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn on_this_machine_paths_are_what_they_are() {
        let found = directories(&check("{files: [/proc/self, /no/such/directory]}", Path::new("")));
        assert_eq!(found, [Directory { path: "/proc/self".to_owned(), source: "/proc/self".into(), root: None }]);
    }

    #[test]
    fn only_granted_variables_are_seen() {
        let check = check("{env: [LEVEL, ABSENT]}", Path::new(""));
        let value = |name: &str| ["LEVEL", "SECRET"].contains(&name).then(|| "1".to_owned());
        assert_eq!(variables(&check, value), [("LEVEL".to_owned(), "1".to_owned())]);
    }
}

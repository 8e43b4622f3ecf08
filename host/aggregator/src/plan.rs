//! Planning: finds modules, determines limits, and asks for the expected results, before anything
//! runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plumbline_core::definition::{AUTO_FORMAT, Definition};
use plumbline_core::{Digest, MAX_CHECK_SECONDS, ModuleLimits, Node, PluginName, ResultKey};
use plumbline_sandbox::{CallStats, Expect, ModuleInfo, PluginInfo, check_options, code_target};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::dispatcher::{CheckCompiler, CheckLaunch, CompiledCheck};
use crate::judging::{PlannedJudge, plan_judges};
use crate::modules::{LazyModule, Modules};
use crate::postprocess::{RunLog, Subject};
use crate::source::{LimitPolicy, PlanError, Source};

/// A planned plugin of the run.
#[derive(Clone)]
pub struct PlannedPlugin {
    /// Definition and bundle.
    pub source: Source,
    /// Module that reads the plugin's results.
    pub post_processor: LazyModule,
    /// Modules that detect their files, for `auto`. If empty, `post_processor` reads all files.
    pub detectors: Vec<LazyModule>,
    /// Module that decides which results are expected, if it exists.
    pub expectations: Option<LazyModule>,
    /// Summarizer in the definition, instead of a post-processor that has this role too.
    pub summarizer: Option<LazyModule>,
    /// Judges of the finished tree, in order.
    pub judges: Vec<PlannedJudge>,
    /// Limits of one call of its modules.
    pub limits: ModuleLimits,
    /// The check that the plugin runs in place of an image. Set by [`PlannedPlugin::with_check`].
    pub check: Option<PlannedCheck>,
    /// Expected results.
    pub expected: Vec<ResultKey>,
    /// Why no result is expected. `None` if results are, and before [`PlannedPlugin::expect`].
    pub nothing_expected: Option<String>,
    /// Problems with the modules' schemas of options, one sentence each.
    pub option_warnings: Vec<String>,
}

/// The check of a plugin.
#[derive(Clone)]
pub struct PlannedCheck {
    /// The component. A run in a cluster compiles it once for all pods.
    pub module: LazyModule,
    /// Its limits. Without another limit, it may run for as long as its plugin.
    pub limits: ModuleLimits,
}

impl PlannedCheck {
    fn of(modules: &Modules, policy: &LimitPolicy, source: &Source) -> Result<Option<Self>, PlanError> {
        let definition = &source.definition;
        let found = modules.check(source.bundle.as_deref(), definition);
        let found = found.map_err(|source| PlanError::Module { plugin: definition.name.clone(), source })?;
        let Some(module) = found else { return Ok(None) };
        let mut limits = policy.limits(definition, module.info())?;
        if definition.plumbline.limits.wall_seconds.or(module.info().limits.wall_seconds).is_none() {
            limits.wall_seconds = MAX_CHECK_SECONDS;
        }
        Ok(Some(Self { module, limits }))
    }

    /// Returns what a dispatcher needs to launch the check of a plugin with this timeout.
    pub(crate) fn launch(&self, timeout: Option<Duration>) -> CheckLaunch {
        let module = self.module.clone();
        let compile = move || {
            let bytes = module.precompile().map_err(|error| error.to_string())?;
            Ok(CompiledCheck { target: code_target().to_owned(), bytes })
        };
        CheckLaunch { limits: limits_within(&self.limits, timeout), compiler: CheckCompiler::new(compile) }
    }
}

/// The time for the results of a check to arrive. With a short timeout, it is a quarter.
const RESERVE: Duration = Duration::from_secs(30);

/// Returns the limits of a check in a plugin with this timeout.
fn limits_within(limits: &ModuleLimits, timeout: Option<Duration>) -> ModuleLimits {
    let mut limits = limits.clone();
    if let Some(timeout) = timeout {
        let reserve = (timeout / 4).min(RESERVE);
        limits.wall_seconds = limits.wall_seconds.min(timeout.saturating_sub(reserve).as_secs().max(1));
    }
    limits
}

/// Finds the modules of `source`, which are then being compiled, and determines its limits.
///
/// # Errors
/// When a module is unusable, a limit exceeds the cap, or a module rejects the options.
pub fn prepare(modules: &Modules, policy: &LimitPolicy, source: Source) -> Result<PlannedPlugin, PlanError> {
    let judges = plan_judges(modules, policy, &source)?;
    let (definition, bundle) = (&source.definition, source.bundle.as_deref());
    let unusable = |source| PlanError::Module { plugin: definition.name.clone(), source };
    let format = definition.result_format.as_deref().unwrap_or_default();
    let post_processor = modules.post_processor(bundle, format).map_err(unusable)?;
    let summarizer = definition.plumbline.summarizer.as_deref();
    let summarizer = summarizer.map(|name| modules.summarizer(bundle, name)).transpose().map_err(unusable)?;
    let detectors = match format {
        AUTO_FORMAT => modules.detectors(bundle).map_err(unusable)?,
        _ => Vec::new(),
    };
    let limits = policy.limits(definition, post_processor.info())?;
    // Find it now, so that it is compiled in time. `expect` reports a missing one.
    let expectations = modules.expectations(bundle, definition.expectations_module()).ok();
    let mut infos = vec![post_processor.info()];
    infos.extend(summarizer.as_ref().map(LazyModule::info));
    infos.extend(expectations.as_ref().map(LazyModule::info));
    let option_warnings = check(definition, infos)?;
    Ok(PlannedPlugin {
        source,
        post_processor,
        detectors,
        expectations,
        summarizer,
        judges,
        limits,
        check: None,
        expected: Vec::new(),
        nothing_expected: None,
        option_warnings,
    })
}

impl PlannedPlugin {
    /// Finds the check of a plugin that is to run, and determines its limits.
    ///
    /// # Errors
    /// When the check is missing, unusable or needs further rights, or rejects the options.
    pub fn with_check(mut self, modules: &Modules, policy: &LimitPolicy) -> Result<Self, PlanError> {
        self.check = PlannedCheck::of(modules, policy, &self.source)?;
        if let Some(found) = &self.check {
            self.option_warnings.extend(check(&self.source.definition, vec![found.module.info()])?);
        }
        Ok(self)
    }

    /// Returns the name of the plugin.
    pub fn name(&self) -> &PluginName {
        &self.source.definition.name
    }

    /// Returns the plugin's information for its modules.
    pub fn info(&self) -> PluginInfo {
        let definition = &self.source.definition;
        PluginInfo {
            name: definition.name.to_string(),
            driver: definition.driver.as_str().to_owned(),
            format: definition.result_format.clone().unwrap_or_default(),
            expected_results: u32::try_from(self.expected.len()).unwrap_or(u32::MAX),
            options: Value::Object(definition.plumbline.options.clone()),
        }
    }

    /// Returns how the plugin's results are read.
    pub fn subject(&self) -> Subject<'_> {
        let definition = &self.source.definition;
        Subject {
            plugin: self.info(),
            per_node: definition.driver.is_per_node(),
            detectors: self.detectors.clone(),
            stdout: definition.plumbline.stdout.as_deref(),
            result_files: &definition.result_files,
            limits: self.limits.clone(),
            summarizer: self.summarizer().cloned(),
            allow_empty: definition.plumbline.allow_empty,
            warnings: self.warnings(),
            nothing_expected: self.nothing_expected.as_deref(),
            keep_items: None,
        }
    }

    fn summarizer(&self) -> Option<&LazyModule> {
        let own = Some(&self.post_processor).filter(|module| module.info().roles.summarizer);
        self.summarizer.as_ref().or(own)
    }

    /// Returns warnings for readers of the results: problems with schemas of options.
    pub fn warnings(&self) -> Vec<String> {
        let judges = self.judges.iter().flat_map(|judge| &judge.warnings);
        self.option_warnings.iter().chain(judges).cloned().collect()
    }

    /// Waits until the modules that read and judge the results are compiled. Blocking. A run does
    /// not need this, because its tree reports unusable modules.
    pub fn ready(&self) -> Result<(), PlanError> {
        let judges = self.judges.iter().map(|judge| &judge.module);
        for module in std::iter::once(&self.post_processor).chain(&self.summarizer).chain(judges) {
            module.wait().map_err(|source| PlanError::Module { plugin: self.name().clone(), source })?;
        }
        Ok(())
    }

    /// Asks the expectations module which results are expected, and returns what the call used.
    /// Blocking.
    ///
    /// # Errors
    /// When the module does not exist or fails.
    pub fn expect(&mut self, modules: &Modules, nodes: &[Node]) -> Result<CallStats, PlanError> {
        let definition = Arc::clone(&self.source.definition);
        let plugin = &definition.name;
        let name = definition.expectations_module();
        let unusable = |source| PlanError::Module { plugin: plugin.clone(), source };
        let lazy = modules.expectations(self.source.bundle.as_deref(), name).map_err(unusable)?;
        let module = lazy.wait().map_err(unusable)?;
        let info = self.info();
        let call = Expect { plugin: &info, pod_spec: definition.pod_spec.as_ref(), nodes, limits: &self.limits };
        let mut log = RunLog::new(plugin.as_str(), name);
        let (expected, stats) = module.expect(call, &mut log).map_err(|failure| PlanError::Expectations {
            plugin: plugin.clone(),
            module: name.to_owned(),
            source: Box::new(log.explain(failure)),
        })?;
        self.expectations = Some(lazy);
        self.expected = expected.into_iter().map(|node| ResultKey::new(plugin.clone(), node)).collect();
        self.nothing_expected = self.expected.is_empty().then(|| nothing_expected(name, nodes.len()));
        Ok(stats)
    }
}

/// Returns why `module` expects no result on this number of nodes.
fn nothing_expected(module: &str, nodes: usize) -> String {
    let why = match nodes {
        0 => "there are no nodes".to_owned(),
        1 => "the only node does not fit".to_owned(),
        _ => format!("none of {nodes} nodes fits"),
    };
    format!("{why} (module `{module}`)")
}

/// Checks the options against the modules' schemas. Returns warnings about unusable schemas.
fn check(definition: &Definition, mut modules: Vec<&ModuleInfo>) -> Result<Vec<String>, PlanError> {
    // Check a module with two or three roles only once.
    let mut seen = BTreeSet::new();
    modules.retain(|info| seen.insert(&info.digest));
    let schemas: Vec<(&str, &Value)> = modules
        .into_iter()
        .filter_map(|info| Some((info.name.as_deref().unwrap_or_default(), info.schema.as_ref()?)))
        .collect();
    let checked = check_options(&definition.plumbline.options, &schemas);
    match checked.problems.is_empty() {
        true => Ok(checked.warnings),
        false => Err(PlanError::Options { plugin: definition.name.clone(), problems: checked.problems }),
    }
}

/// Version of `meta/modules.json`. Within a version, keys are only added.
const MODULES_VERSION: u32 = 1;

/// Origin of a plugin, as far as it is known when the run is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The requested source: a path, a URL, `oci://…`, or a name.
    #[serde(default)]
    pub reference: Option<String>,
    /// Digest of the bundle, `sha256:` and hexadecimal digits.
    #[serde(default)]
    pub bundle: Option<String>,
    /// Digest of the definition's file, in the same form.
    #[serde(default)]
    pub definition_file: Option<String>,
}

/// Returns `meta/modules.json`: the modules that produce the results, by digest of the loaded
/// bytes.
pub(crate) fn modules_document(
    plugins: &[PlannedPlugin],
    modules: &Modules,
    known: &BTreeMap<PluginName, Provenance>,
) -> Value {
    let plugin = |plugin: &PlannedPlugin| {
        let definition = plugin.source.definition.to_json().to_string();
        let known = known.get(plugin.name()).cloned().unwrap_or_default();
        json!({
            "plugin": plugin.name(),
            // Of `Definition` in the plugin's `definition.json`, as compact JSON.
            "definition": Digest::of(definition.as_bytes()),
            "definition-file": known.definition_file,
            "source": known.reference,
            "bundle": known.bundle,
            "modules": used_modules(plugin, modules),
        })
    };
    json!({"version": MODULES_VERSION, "plugins": plugins.iter().map(plugin).collect::<Vec<_>>()})
}

fn used_modules(plugin: &PlannedPlugin, modules: &Modules) -> Vec<Value> {
    let readers = match plugin.detectors.as_slice() {
        [] => std::slice::from_ref(&plugin.post_processor),
        detectors => detectors,
    };
    let check = plugin.check.iter().map(|check| ("check", &check.module));
    let expectations = plugin.expectations.iter().map(|module| ("expectations", module));
    let readers = readers.iter().map(|module| ("post-processor", module));
    let summarizer = plugin.summarizer().into_iter().map(|module| ("summarizer", module));
    // Judges see the causes that this module finds.
    let causes = plugin.judges.first().and_then(|judge| judge.causes.as_ref());
    let causes = causes.map(|causes| ("summarizer", causes.module()));
    let judges = plugin.judges.iter().map(|judge| ("judge", &judge.module));
    let describe = |(role, module): (&str, &LazyModule)| {
        let info = module.info();
        let component = plugin.source.definition.plumbline.component.clone().filter(|_| role == "check");
        let in_bundle = || modules.file_in(plugin.source.bundle.as_deref()?, &info.digest);
        let file = component.or_else(in_bundle);
        json!({
            "role": role,
            "name": module.name(),
            "from": if file.is_some() { "bundle" } else { "built-in" },
            "file": file,
            "digest": format!("sha256:{}", info.digest),
            "generation": info.generation,
        })
    };
    check.chain(expectations).chain(readers).chain(summarizer).chain(causes).chain(judges).map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_ends_before_its_plugin_times_out() {
        let seconds = |wall_seconds, timeout: Option<u64>| {
            let limits = ModuleLimits { wall_seconds, ..ModuleLimits::default() };
            limits_within(&limits, timeout.map(Duration::from_secs)).wall_seconds
        };
        assert_eq!(seconds(MAX_CHECK_SECONDS, None), MAX_CHECK_SECONDS);
        assert_eq!(seconds(MAX_CHECK_SECONDS, Some(600)), 570);
        assert_eq!(seconds(MAX_CHECK_SECONDS, Some(8)), 6);
        assert_eq!(seconds(MAX_CHECK_SECONDS, Some(1)), 1);
        assert_eq!(seconds(5, Some(600)), 5, "a limit of its own");
    }
}

//! Planning: finds modules, determines limits, and asks for the expected results, before anything
//! runs.

use std::sync::Arc;

use plumbline_core::definition::{AUTO_FORMAT, Definition, effective_limits};
use plumbline_core::{ModuleLimits, Node, NodeName, PluginName, ResultKey};
use plumbline_sandbox::{CallStats, Expect, ModuleInfo, PluginInfo, check_options};

use crate::judging::{PlannedJudge, plan_judges};
use crate::lazy::LazyModule;
use crate::modules::Modules;
use crate::postprocess::{RunLog, Subject};
use crate::source::{LimitPolicy, PlanError, Source};

/// A planned plugin of the run.
#[derive(Clone)]
pub struct PlannedPlugin {
    /// Definition and bundle.
    pub source: Source,
    /// Module that reads the plugin's results.
    pub post_processor: LazyModule,
    /// Modules that detect their files, for the result format `auto`. If empty, `post_processor`
    /// reads all files.
    pub detectors: Vec<LazyModule>,
    /// Module that decides which results are expected. `None` if it does not exist, which is an
    /// error in [`PlannedPlugin::expect`].
    pub expectations: Option<LazyModule>,
    /// Summarizer in the definition. `None` means the post-processor, if it implements this role
    /// too.
    pub summarizer: Option<LazyModule>,
    /// Judges of the finished tree, in order.
    pub judges: Vec<PlannedJudge>,
    /// Limits of one call of its modules.
    pub limits: ModuleLimits,
    /// Expected results.
    pub expected: Vec<ResultKey>,
    /// Problems with the modules' schemas of options, one sentence each.
    pub option_warnings: Vec<String>,
}

/// Finds the modules of `source` and determines its limits. When it returns, modules are read and
/// inspected, and are being compiled. [`PlannedPlugin::ready`] waits for that.
///
/// # Errors
/// When a module is unusable, a limit exceeds the cap, or a module rejects the options.
pub fn prepare(modules: &Modules, policy: &LimitPolicy, source: Source) -> Result<PlannedPlugin, PlanError> {
    let judges = plan_judges(modules, policy, &source)?;
    let definition = &source.definition;
    let plugin = definition.name.clone();
    let post_processor = modules
        .post_processor(source.bundle.as_deref(), definition.result_format.as_deref().unwrap_or_default())
        .map_err(|source| PlanError::Module { plugin: plugin.clone(), source })?;
    let summarizer = definition.plumbline.summarizer.as_deref();
    let summarizer = summarizer
        .map(|name| modules.summarizer(source.bundle.as_deref(), name))
        .transpose()
        .map_err(|source| PlanError::Module { plugin: plugin.clone(), source })?;
    let detectors = if definition.result_format.as_deref() == Some(AUTO_FORMAT) {
        let detectors = modules.detectors(source.bundle.as_deref());
        detectors.map_err(|source| PlanError::Module { plugin: plugin.clone(), source })?
    } else {
        Vec::new()
    };
    // The definition takes precedence, because its author knows the results, while the module's
    // author knows only the module.
    let request = definition.plumbline.limits.clone().or(&post_processor.info().limits);
    let limits = effective_limits(&request, &policy.default, &policy.cap)
        .map_err(|source| PlanError::Limit { plugin, source })?;
    // Find it now, so that it is compiled when it is needed. `expect` reports if it does not exist.
    let expectations = modules.expectations(source.bundle.as_deref(), definition.expectations_module()).ok();
    let mut infos = vec![post_processor.info()];
    infos.extend(summarizer.as_ref().map(LazyModule::info));
    infos.extend(expectations.as_ref().map(LazyModule::info));
    let option_warnings = check(definition, &infos)?;
    Ok(PlannedPlugin {
        source,
        post_processor,
        detectors,
        expectations,
        summarizer,
        judges,
        limits,
        expected: Vec::new(),
        option_warnings,
    })
}

impl PlannedPlugin {
    /// Returns the name of the plugin.
    #[must_use]
    pub fn name(&self) -> &PluginName {
        &self.source.definition.name
    }

    /// Returns the plugin's information for its modules.
    #[must_use]
    pub fn info(&self) -> PluginInfo {
        let definition = &self.source.definition;
        PluginInfo {
            name: definition.name.to_string(),
            driver: definition.driver.as_str().to_owned(),
            format: definition.result_format.clone().unwrap_or_default(),
            expected_results: u32::try_from(self.expected.len()).unwrap_or(u32::MAX),
            options: serde_json::Value::Object(definition.plumbline.options.clone()),
        }
    }

    /// Returns how the plugin's results are read.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        let definition = &self.source.definition;
        let own_summarizer = Some(&self.post_processor).filter(|module| module.info().roles.summarizer);
        Subject {
            plugin: self.info(),
            per_node: definition.driver.is_per_node(),
            detectors: self.detectors.clone(),
            stdout: definition.plumbline.stdout.as_deref(),
            result_files: &definition.result_files,
            limits: self.limits.clone(),
            summarizer: self.summarizer.as_ref().or(own_summarizer).cloned(),
            allow_empty: definition.plumbline.allow_empty,
            warnings: self.warnings(),
            keep_items: None,
        }
    }

    /// Returns warnings for readers of the results: problems with schemas of options.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let judges = self.judges.iter().flat_map(|judge| &judge.warnings);
        self.option_warnings.iter().chain(judges).cloned().collect()
    }

    /// Waits until the modules that read and judge the results are compiled. Blocking. A run does
    /// not need this: if a module turns out to be unusable later, the tree says so and the results
    /// are kept.
    ///
    /// # Errors
    /// When one of them is unusable.
    pub fn ready(&self) -> Result<(), PlanError> {
        let judges = self.judges.iter().map(|judge| &judge.module);
        for module in std::iter::once(&self.post_processor).chain(&self.summarizer).chain(judges) {
            module.wait().map_err(|source| PlanError::Module { plugin: self.name().clone(), source })?;
        }
        Ok(())
    }

    /// Asks the expectations module which results are expected, and returns the resources that the
    /// call used. Blocking: it waits until the module is compiled.
    ///
    /// # Errors
    /// When the module does not exist or fails. A run must not start with the wrong expected
    /// results.
    pub fn expect(&mut self, modules: &Modules, nodes: &[Node]) -> Result<CallStats, PlanError> {
        let definition = Arc::clone(&self.source.definition);
        let plugin = definition.name.clone();
        let name = definition.expectations_module();
        let lazy = modules
            .expectations(self.source.bundle.as_deref(), name)
            .map_err(|source| PlanError::Module { plugin: plugin.clone(), source })?;
        let module = lazy.wait().map_err(|source| PlanError::Module { plugin: plugin.clone(), source })?;
        let info = self.info();
        let call = Expect { plugin: &info, pod_spec: definition.pod_spec.as_ref(), nodes, limits: &self.limits };
        let mut log = RunLog::new(plugin.as_str(), name);
        let asked = module.expect(call, &mut log).map_err(|failure| log.explain(failure));
        let (expected, stats): (Vec<NodeName>, _) = asked.map_err(|source| PlanError::Expectations {
            plugin: plugin.clone(),
            module: name.to_owned(),
            source: Box::new(source),
        })?;
        self.expectations = Some(lazy);
        self.expected = expected.into_iter().map(|node| ResultKey::new(plugin.clone(), node)).collect();
        Ok(stats)
    }
}

/// Checks the definition's options against the schemas of its modules. Returns warnings about
/// schemas that are unusable.
///
/// # Errors
/// [`PlanError::Options`] when a module rejects the options.
pub(crate) fn check(definition: &Definition, modules: &[&ModuleInfo]) -> Result<Vec<String>, PlanError> {
    let mut seen: Vec<String> = Vec::new();
    let mut schemas: Vec<(&str, &serde_json::Value)> = Vec::new();
    for info in modules {
        let Some(schema) = &info.schema else { continue };
        // Check a module with two roles only once.
        if !seen.contains(&info.digest) {
            seen.push(info.digest.clone());
            schemas.push((info.name.as_deref().unwrap_or_default(), schema));
        }
    }
    let checked = check_options(&definition.plumbline.options, &schemas);
    if checked.problems.is_empty() {
        return Ok(checked.warnings);
    }
    Err(PlanError::Options { plugin: definition.name.clone(), problems: checked.problems })
}

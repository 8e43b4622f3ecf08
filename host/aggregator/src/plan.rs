//! From definitions to what must arrive: modules are found, limits settled, and expectations asked, before anything runs.

use std::sync::Arc;

use plumbline_core::definition::{AUTO_FORMAT, Definition, effective_limits};
use plumbline_core::{ModuleLimits, Node, NodeName, PluginName, ResultKey};
use plumbline_sandbox::{CallStats, Expect, ModuleInfo, PluginInfo, check_options};

use crate::judging::{PlannedJudge, plan_judges};
use crate::lazy::LazyModule;
use crate::modules::Modules;
use crate::postprocess::{RunLog, Subject};
use crate::source::{LimitPolicy, PlanError, Source};

/// A plugin of the run, ready.
#[derive(Clone)]
pub struct PlannedPlugin {
    /// Definition and directory.
    pub source: Source,
    /// The module that reads its results.
    pub post_processor: LazyModule,
    /// The modules that detect their files, where the result format is `auto`; empty: `post_processor` reads all files.
    pub detectors: Vec<LazyModule>,
    /// Who says which results must arrive. `None`: there is none of that name, which is an error when it is asked.
    pub expectations: Option<LazyModule>,
    /// The summarizer that the definition names; `None`: the post-processor, if it has this role too.
    pub summarizer: Option<LazyModule>,
    /// Who says what of its finished tree counts, in their order.
    pub judges: Vec<PlannedJudge>,
    /// What one call of its modules may use.
    pub limits: ModuleLimits,
    /// What must arrive.
    pub expected: Vec<ResultKey>,
    /// Schemas of its modules' options that cannot be used, each as a sentence.
    pub option_warnings: Vec<String>,
}

/// Finds the modules of `source` and settles its limits. Modules are read and inspected, and being compiled when this returns;
/// [`PlannedPlugin::ready`] waits for that.
///
/// # Errors
/// When a module cannot be used, a limit is over the cap, or a module does not take the options.
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
    // The definition's author knows the results, the module's author only the module.
    let request = definition.plumbline.limits.clone().or(&post_processor.info().limits);
    let limits = effective_limits(&request, &policy.default, &policy.cap)
        .map_err(|source| PlanError::Limit { plugin, source })?;
    // Found now, so that it is being compiled when it is asked. That it is not there, is said then.
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
    /// The plugin's name.
    #[must_use]
    pub fn name(&self) -> &PluginName {
        &self.source.definition.name
    }

    /// What its modules are told.
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

    /// How its results are read.
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

    /// What a reader of its results must know: schemas of options that cannot be used.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let judges = self.judges.iter().flat_map(|judge| &judge.warnings);
        self.option_warnings.iter().chain(judges).cloned().collect()
    }

    /// Waits until the modules that read its results are compiled. Blocking. A run does not need this: what turns out to be unusable once results
    /// are there is said in the tree, and the results are kept.
    ///
    /// # Errors
    /// When one of them cannot be used after all.
    pub fn ready(&self) -> Result<(), PlanError> {
        let judges = self.judges.iter().map(|judge| &judge.module);
        for module in std::iter::once(&self.post_processor).chain(&self.summarizer).chain(judges) {
            module.wait().map_err(|source| PlanError::Module { plugin: self.name().clone(), source })?;
        }
        Ok(())
    }

    /// Asks its expectations which results must arrive, and says what the call used. Blocking: waits for that module to be compiled.
    ///
    /// # Errors
    /// When there is no such module, or it fails: a run that waits for the wrong results is not begun.
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

/// Holds the definition's options against the schemas of its modules. What comes back are warnings: schemas that cannot be used.
///
/// # Errors
/// [`PlanError::Options`] when a module does not take them.
pub(crate) fn check(definition: &Definition, modules: &[&ModuleInfo]) -> Result<Vec<String>, PlanError> {
    let mut seen: Vec<String> = Vec::new();
    let mut schemas: Vec<(&str, &serde_json::Value)> = Vec::new();
    for info in modules {
        let Some(schema) = &info.schema else { continue };
        // One module in two roles is asked once.
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

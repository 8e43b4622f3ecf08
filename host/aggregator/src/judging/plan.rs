//! Resolution of a plugin's judges and their inputs, before anything runs.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::civil::Date;
use plumbline_core::ModuleLimits;
use plumbline_core::definition::{VerdictEntry, effective_limits};
use plumbline_sandbox::check_options;
use serde_json::{Map, Value};

use crate::lazy::LazyModule;
use crate::modules::Modules;
use crate::source::{LimitPolicy, PlanError, Source};

/// A resolved judge of a chain.
#[derive(Clone)]
pub struct PlannedJudge {
    /// Entry in the definition.
    pub entry: VerdictEntry,
    /// The module.
    pub module: LazyModule,
    /// Limits of one call.
    pub limits: ModuleLimits,
    /// Patterns of archive files that it may read.
    pub evidence: GlobSet,
    /// Whether the judge gets the day, as its option `today`.
    pub told_the_day: bool,
    /// Problems with its schema of options, one sentence each.
    pub warnings: Vec<String>,
}

/// Resolves the judges of `source` in order, and checks their inputs.
///
/// # Errors
/// When a judge is unknown or unusable, rejects its options, or has invalid data or patterns.
pub fn plan_judges(modules: &Modules, policy: &LimitPolicy, source: &Source) -> Result<Vec<PlannedJudge>, PlanError> {
    let chain = source.definition.plumbline.verdict.iter().enumerate();
    chain.map(|(at, entry)| plan_judge(modules, policy, source, at, entry)).collect()
}

fn plan_judge(
    modules: &Modules,
    policy: &LimitPolicy,
    source: &Source,
    at: usize,
    entry: &VerdictEntry,
) -> Result<PlannedJudge, PlanError> {
    let definition = &source.definition;
    let plugin = || definition.name.clone();
    let refused = |key: &str, why: String| PlanError::Verdict {
        plugin: plugin(),
        path: format!("plumbline.verdict[{at}].{key}"),
        why,
    };
    let module = modules
        .judge(source.bundle.as_deref(), &entry.judge)
        .map_err(|source| PlanError::Module { plugin: plugin(), source })?;
    let request = definition.plumbline.limits.clone().or(&module.info().limits);
    let limits = effective_limits(&request, &policy.default, &policy.cap)
        .map_err(|source| PlanError::Limit { plugin: plugin(), source })?;
    for name in &entry.data {
        if !definition.config_map.contains_key(name) {
            let known: Vec<&str> = definition.config_map.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
            return Err(refused("data", format!("`{name}` is not a key of `config-map` ({known})")));
        }
    }
    let entry = entry.clone();
    let mut warnings = Vec::new();
    let mut told_the_day = false;
    if let Some(schema) = &module.info().schema {
        told_the_day = schema.pointer("/properties/today").is_some() && !entry.options.contains_key(TODAY);
        let mut options = entry.options.clone();
        if told_the_day {
            // An arbitrary day. The actual one is set when the judge runs.
            tell_the_day(&mut options, Date::constant(2026, 1, 1));
        }
        let checked = check_options(&options, &[(entry.judge.as_str(), schema)]);
        let mut problems = checked.problems;
        if !problems.is_empty() {
            for problem in &mut problems {
                let below = problem.path.strip_prefix("plumbline.").unwrap_or(&problem.path).to_owned();
                problem.path = format!("plumbline.verdict[{at}].{below}");
            }
            return Err(PlanError::Options { plugin: plugin(), problems });
        }
        warnings = checked.warnings;
    }
    let evidence = patterns(&entry.evidence).map_err(|error| refused("evidence", error.to_string()))?;
    Ok(PlannedJudge { entry, module, limits, evidence, told_the_day, warnings })
}

/// Option with the day.
const TODAY: &str = "today";

/// Sets the day in the options of a judge, because modules have no clock. Entries of lists can
/// expire on a day. It is set only if the judge's schema has the option and the definition does not
/// set it.
pub(super) fn tell_the_day(options: &mut Map<String, Value>, day: Date) {
    options.insert(TODAY.to_owned(), Value::from(day.to_string()));
}

/// Compiles globs in which `*` and `?` do not match `/`, and `**` does.
fn patterns(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    set.build()
}

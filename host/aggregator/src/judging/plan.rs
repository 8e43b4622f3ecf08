//! Which modules judge a plugin, and what they are given, before anything runs.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::civil::Date;
use plumbline_core::ModuleLimits;
use plumbline_core::definition::{VerdictEntry, effective_limits};
use plumbline_sandbox::check_options;
use serde_json::{Map, Value};

use crate::lazy::LazyModule;
use crate::modules::Modules;
use crate::source::{LimitPolicy, PlanError, Source};

/// A judge of a chain, found.
#[derive(Clone)]
pub struct PlannedJudge {
    /// What the definition says of it.
    pub entry: VerdictEntry,
    /// The module.
    pub module: LazyModule,
    /// What a call of it may use.
    pub limits: ModuleLimits,
    /// Which files of the archive it may read.
    pub evidence: GlobSet,
    /// Whether it is told the day, as its option `today`.
    pub told_the_day: bool,
    /// Its schema of options cannot be used: a sentence for each.
    pub warnings: Vec<String>,
}

/// Finds the judges of `source` in their order, and checks what they are given.
///
/// # Errors
/// When a judge is not known or cannot be used, does not take its options, or is given data or patterns that cannot be.
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
            // Any day: which one it is, is known when it judges.
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

/// The option under which a judge is told the day.
const TODAY: &str = "today";

/// Modules have no clock. One whose schema knows the option is told the day there, unless the definition names another one: what lists
/// allow until a day depends on it.
pub(super) fn tell_the_day(options: &mut Map<String, Value>, day: Date) {
    options.insert(TODAY.to_owned(), Value::from(day.to_string()));
}

/// `*` and `?` stop at `/`; `**` does not.
fn patterns(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    set.build()
}

//! Finds the rule of a result (3.27.5 to 3.27.7), and the level of a result (3.27.10).

use std::collections::HashMap;

use crate::log::{Component, ComponentReference, Finding, Rule, RuleReference, Run, Tool, at};

/// The level of a result if nothing says another one.
const DEFAULT: &str = "warning";

/// The rules of a run by ID, because logs have tens of thousands of results.
pub(crate) struct Rules<'a> {
    tool: &'a Tool,
    by_id: HashMap<&'a str, &'a Rule>,
    /// The levels that an invocation gave to rules, by its index and the ID of the rule.
    overrides: HashMap<(usize, &'a str), &'a str>,
    /// The worst of the levels that any invocation gave to a rule.
    worst: HashMap<&'a str, &'a str>,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
        let tool = &run.tool;
        let mut by_id = HashMap::new();
        for rule in components(tool).flat_map(|component| component.rules.iter().flatten()) {
            if let Some(id) = &rule.id {
                by_id.entry(id.as_str()).or_insert(rule);
            }
        }
        let mut rules = Self { tool, by_id, overrides: HashMap::new(), worst: HashMap::new() };
        for (invocation, of) in run.invocations.iter().flatten().enumerate() {
            for one in of.rule_configuration_overrides.iter().flatten() {
                let (Some(id), Some(level)) = (rules.id(&one.descriptor), one.configuration.level.as_deref()) else {
                    continue;
                };
                rules.overrides.entry((invocation, id)).or_insert(level);
                let worst = rules.worst.entry(id).or_insert(level);
                *worst = worse(worst, level);
            }
        }
        rules
    }

    /// Returns the level of a result of the kind `fail`, with the ID and the rule that it has. An
    /// invocation may override the level of a rule. If the result does not say which invocation found
    /// it, only a worse level counts.
    pub(crate) fn level<'b>(&'b self, finding: &'b Finding, id: Option<&str>, rule: Option<&'b Rule>) -> &'b str {
        if let Some(level) = finding.level.as_deref() {
            return level;
        }
        let configured = rule.and_then(|rule| rule.default_configuration.as_ref()?.level.as_deref());
        let default = configured.unwrap_or(DEFAULT);
        let mut ids = [rule.and_then(|rule| rule.id.as_deref()), id].into_iter().flatten();
        let index = finding.provenance.as_ref().and_then(|provenance| provenance.invocation_index);
        match index.and_then(|index| usize::try_from(index).ok()) {
            Some(index) => ids.find_map(|id| self.overrides.get(&(index, id)).copied()).unwrap_or(default),
            None => ids.find_map(|id| self.worst.get(id).copied()).map_or(default, |level| worse(default, level)),
        }
    }

    /// Returns the ID of the rule that `reference` means.
    fn id(&self, reference: &'a RuleReference) -> Option<&'a str> {
        let by_index = || {
            at(component(self.tool, reference.tool_component.as_ref())?.rules.as_ref(), reference.index)?.id.as_deref()
        };
        reference.id.as_deref().or_else(by_index)
    }

    /// Returns the rule's ID in the log, and the rule if the log describes it.
    pub(crate) fn of<'b>(&'b self, finding: &'b Finding) -> (Option<&'b str>, Option<&'a Rule>) {
        let reference = finding.rule.as_ref();
        let id = finding.rule_id.as_deref().or_else(|| reference?.id.as_deref());
        let index = finding.rule_index.or_else(|| reference?.index);
        let of = || component(self.tool, reference.and_then(|rule| rule.tool_component.as_ref()));
        let by_index = index.and_then(|index| at(of()?.rules.as_ref(), Some(index)));
        let rule = by_index.or_else(|| self.by_id(id?));
        (id.or_else(|| rule?.id.as_deref()), rule)
    }

    /// Returns the rule with this ID. `CA1000/1` falls back to `CA1000`.
    fn by_id(&self, mut id: &str) -> Option<&'a Rule> {
        loop {
            if let Some(rule) = self.by_id.get(id) {
                return Some(rule);
            }
            id = id.rsplit_once('/')?.0;
        }
    }
}

/// Returns the worse of two levels. Unknown ones are worse than all but `error`.
fn worse<'a>(one: &'a str, other: &'a str) -> &'a str {
    let rank = |level: &str| match level {
        "error" => 4,
        "warning" => 2,
        "note" => 1,
        "none" => 0,
        _ => 3,
    };
    if rank(other) > rank(one) { other } else { one }
}

fn components(tool: &Tool) -> impl Iterator<Item = &Component> {
    std::iter::once(&tool.driver).chain(tool.extensions.iter().flatten())
}

/// Returns the driver, or the component that `wanted` means (3.54).
pub(crate) fn component<'a>(tool: &'a Tool, wanted: Option<&ComponentReference>) -> Option<&'a Component> {
    let Some(wanted) = wanted else { return Some(&tool.driver) };
    let is_meant = |component: &&Component| wanted.name.is_some() && component.name == wanted.name;
    at(tool.extensions.as_ref(), wanted.index).or_else(|| components(tool).find(is_meant))
}

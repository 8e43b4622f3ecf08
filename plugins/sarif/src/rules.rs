//! Finds the rule of a result (3.27.5 to 3.27.7).

use std::collections::HashMap;

use crate::log::{Component, Finding, Rule, Tool, at};

/// The rules of a run by ID, because logs have tens of thousands of results.
pub(crate) struct Rules<'a> {
    tool: &'a Tool,
    by_id: HashMap<&'a str, &'a Rule>,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(tool: &'a Tool) -> Self {
        let mut by_id = HashMap::new();
        for rule in components(tool).flat_map(|component| component.rules.iter().flatten()) {
            if let Some(id) = &rule.id {
                by_id.entry(id.as_str()).or_insert(rule);
            }
        }
        Self { tool, by_id }
    }

    /// Returns the rule's ID in the log, and the rule if the log describes it.
    pub(crate) fn of<'b>(&'b self, finding: &'b Finding) -> (Option<&'b str>, Option<&'a Rule>) {
        let reference = finding.rule.as_ref();
        let id = finding.rule_id.as_deref().or_else(|| reference?.id.as_deref());
        let index = finding.rule_index.or_else(|| reference?.index);
        let by_index = index.and_then(|index| at(self.component(finding)?.rules.as_ref(), Some(index)));
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

    fn component(&self, finding: &Finding) -> Option<&'a Component> {
        let wanted = finding.rule.as_ref().and_then(|rule| rule.tool_component.as_ref());
        let Some(wanted) = wanted else { return Some(&self.tool.driver) };
        let by_index = at(self.tool.extensions.as_ref(), wanted.index);
        by_index
            .or_else(|| components(self.tool).find(|component| wanted.name.is_some() && component.name == wanted.name))
    }
}

fn components(tool: &Tool) -> impl Iterator<Item = &Component> {
    std::iter::once(&tool.driver).chain(tool.extensions.iter().flatten())
}

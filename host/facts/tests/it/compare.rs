//! Compares two documents of facts, fact by fact.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Rules for comparing the documents, by path.
pub(crate) struct Rules {
    /// Paths where only the type is compared.
    pub(crate) by_type: &'static [(&'static str, &'static str)],
    /// Lists whose order does not matter.
    pub(crate) unordered: &'static [(&'static str, &'static str)],
    /// Facts that only Ansible has.
    pub(crate) gaps: &'static [(&'static str, &'static str)],
    /// Facts that only Plumbline has.
    pub(crate) ours: &'static [(&'static str, &'static str)],
}

/// The differences that the rules do not allow, and the number of equal values.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) differences: Vec<String>,
    pub(crate) equal: usize,
}

/// Removes interface names from the keys, so that the rules apply to every machine.
pub(crate) fn neutral(facts: &Map<String, Value>) -> Value {
    let interfaces: BTreeSet<String> = facts["ansible_interfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| format!("ansible_{}", name.as_str().unwrap().replace([':', '-'], "_")))
        .collect();
    let mut own = Map::new();
    let mut rest = Map::new();
    for (key, value) in facts {
        let place = if interfaces.contains(key) { &mut own } else { &mut rest };
        place.insert(key.clone(), value.clone());
    }
    rest.insert("interface".to_owned(), own.into());
    rest.into()
}

/// Returns true if a rule matches a path. `*` matches any name, or the rest of a name.
fn about(rule: &str, place: &str) -> bool {
    let (rule, place): (Vec<_>, Vec<_>) = (rule.split(" > ").collect(), place.split(" > ").collect());
    rule.len() == place.len()
        && rule.iter().zip(&place).all(|(rule, place)| match rule.strip_suffix('*') {
            Some(begin) => place.starts_with(begin),
            None => rule == place,
        })
}

fn listed(rules: &[(&str, &str)], place: &str) -> bool {
    rules.iter().any(|(rule, _)| about(rule, place))
}

impl Comparison {
    pub(crate) fn compare(&mut self, rules: &Rules, place: &str, theirs: &Value, ours: &Value) {
        if kind(theirs) != kind(ours) {
            self.differences.push(format!("{place}: Ansible has {theirs}, we have {ours}"));
            return;
        }
        if listed(rules.by_type, place) {
            return;
        }
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => self.objects(rules, place, theirs, ours),
            (Value::Array(theirs), Value::Array(ours)) => self.lists(rules, place, theirs, ours),
            _ if theirs == ours => self.equal += 1,
            _ => self.differences.push(format!("{place}: Ansible has {theirs}, we have {ours}")),
        }
    }

    fn objects(&mut self, rules: &Rules, place: &str, theirs: &Map<String, Value>, ours: &Map<String, Value>) {
        let inside = |key: &String| if place.is_empty() { key.clone() } else { format!("{place} > {key}") };
        for (key, value) in theirs {
            let place = inside(key);
            match ours.get(key) {
                Some(_) if listed(rules.gaps, &place) => {
                    self.differences.push(format!("{place}: is listed as a gap and is none any more"));
                }
                Some(own) => self.compare(rules, &place, value, own),
                None if listed(rules.gaps, &place) => {}
                None => self.differences.push(format!("{place}: Ansible has {value}, we have nothing: a new gap")),
            }
        }
        for (key, value) in ours {
            let place = inside(key);
            if !theirs.contains_key(key) && !listed(rules.ours, &place) {
                self.differences.push(format!("{place}: we have {value}, Ansible has nothing"));
            }
        }
    }

    fn lists(&mut self, rules: &Rules, place: &str, theirs: &[Value], ours: &[Value]) {
        if theirs.len() != ours.len() {
            self.differences.push(format!("{place}: Ansible has {theirs:?}, we have {ours:?}"));
            return;
        }
        let (mut theirs, mut ours) = (theirs.to_vec(), ours.to_vec());
        if listed(rules.unordered, place) {
            // Objects in such lists are identified by mount point or address.
            let key = |value: &Value| format!("{} {} {value}", value["mount"], value["address"]);
            theirs.sort_by_key(key);
            ours.sort_by_key(key);
        }
        for (theirs, ours) in theirs.iter().zip(&ours) {
            self.compare(rules, &format!("{place} > []"), theirs, ours);
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

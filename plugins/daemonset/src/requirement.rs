//! Terms of a node selector (Kubernetes core/v1 `NodeSelectorTerm`).

use plumbline_sdk::Node;

use crate::place::{FieldPath, Object, SpecError};

/// The only field that Kubernetes can match.
const FIELD: &str = "metadata.name";

const LABEL_OPERATORS: &str = "`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`";
const FIELD_OPERATORS: &str = "`In` or `NotIn`";

/// A term, all of whose requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Term {
    /// Requirements on labels.
    pub expressions: Vec<Requirement>,
    /// Requirements on the name of the node.
    pub fields: Vec<Rule>,
}

/// A requirement on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The key of the label.
    pub key: String,
    /// The rule for the value of the label.
    pub rule: Rule,
}

/// An operator with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The label exists and has one of these values.
    In(Vec<String>),
    /// The label does not exist, or has none of these values.
    NotIn(Vec<String>),
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
    /// The label exists, and its value is an integer greater than this one.
    Gt(i64),
    /// The label exists, and its value is an integer less than this one.
    Lt(i64),
}

impl Term {
    pub(crate) fn read(place: &FieldPath<'_>) -> Result<Self, SpecError> {
        let term = place.object()?;
        let expressions = term.list("matchExpressions")?.iter().map(expression).collect::<Result<_, _>>()?;
        let fields = term.list("matchFields")?.iter().map(field).collect::<Result<_, _>>()?;
        Ok(Self { expressions, fields })
    }

    /// Returns whether the term matches `node`. An empty term matches no node, as in the scheduler
    /// of Kubernetes.
    #[must_use]
    pub fn matches(&self, node: &Node) -> bool {
        let is_empty = self.expressions.is_empty() && self.fields.is_empty();
        !is_empty
            && self
                .expressions
                .iter()
                .all(|requirement| requirement.rule.holds(node.labels.get(&requirement.key).map(String::as_str)))
            && self.fields.iter().all(|rule| rule.holds(Some(&node.name)))
    }
}

impl Rule {
    /// Returns whether the rule holds for a label's value. `None` means that the node does not have
    /// the label.
    #[must_use]
    pub fn holds(&self, value: Option<&str>) -> bool {
        let is_among = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => is_among(values),
            Self::NotIn(values) => !is_among(values),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::Gt(bound) => number().is_some_and(|number| number > *bound),
            Self::Lt(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

fn expression(place: &FieldPath<'_>) -> Result<Requirement, SpecError> {
    let requirement = place.object()?;
    let key = requirement.required("key")?.text()?.to_owned();
    let operator = requirement.required("operator")?;
    let values = values(&requirement)?;
    let rule = match operator.text()? {
        "In" => Rule::In(some(values, &requirement, "In")?),
        "NotIn" => Rule::NotIn(some(values, &requirement, "NotIn")?),
        "Exists" => none(&values, &requirement, "Exists", Rule::Exists)?,
        "DoesNotExist" => none(&values, &requirement, "DoesNotExist", Rule::DoesNotExist)?,
        "Gt" => Rule::Gt(number(&values, &requirement, "Gt")?),
        "Lt" => Rule::Lt(number(&values, &requirement, "Lt")?),
        other => return Err(operator.unknown(other, LABEL_OPERATORS)),
    };
    Ok(Requirement { key, rule })
}

fn field(place: &FieldPath<'_>) -> Result<Rule, SpecError> {
    let requirement = place.object()?;
    let key = requirement.required("key")?;
    match key.text()? {
        FIELD => {}
        other => return Err(key.unknown(other, "`metadata.name`, the only field that can be matched")),
    }
    let operator = requirement.required("operator")?;
    let values = values(&requirement)?;
    match operator.text()? {
        "In" => Ok(Rule::In(one(values, &requirement, "In")?)),
        "NotIn" => Ok(Rule::NotIn(one(values, &requirement, "NotIn")?)),
        other => Err(operator.unknown(other, FIELD_OPERATORS)),
    }
}

fn values(requirement: &Object<'_>) -> Result<Vec<String>, SpecError> {
    requirement.list("values")?.iter().map(|value| value.text().map(str::to_owned)).collect()
}

fn some(values: Vec<String>, at: &Object<'_>, operator: &'static str) -> Result<Vec<String>, SpecError> {
    if values.is_empty() { Err(wrong(at, operator, "needs at least one value")) } else { Ok(values) }
}

/// Checks that there is exactly one value, which is what fields can be compared with.
fn one(values: Vec<String>, at: &Object<'_>, operator: &'static str) -> Result<Vec<String>, SpecError> {
    if values.len() == 1 { Ok(values) } else { Err(wrong(at, operator, "needs exactly one value in `matchFields`")) }
}

fn none(values: &[String], at: &Object<'_>, operator: &'static str, rule: Rule) -> Result<Rule, SpecError> {
    if values.is_empty() { Ok(rule) } else { Err(wrong(at, operator, "takes no values")) }
}

fn number(values: &[String], at: &Object<'_>, operator: &'static str) -> Result<i64, SpecError> {
    let [value] = values else { return Err(wrong(at, operator, "needs exactly one value")) };
    value.parse().map_err(|_| wrong(at, operator, "needs a whole number"))
}

fn wrong(at: &Object<'_>, operator: &'static str, rule: &'static str) -> SpecError {
    SpecError::Values { place: at.name.clone(), operator, rule }
}

//! Selects namespaces.

use regex::Regex;

/// Selects namespaces by a regular expression that may match anywhere in the name, and by one exact
/// name.
#[derive(Debug, Clone, Default)]
pub(super) struct NamespaceFilter {
    expression: Option<Regex>,
    also: Option<String>,
}

impl NamespaceFilter {
    /// Selects all namespaces whose name matches `expression`.
    ///
    /// The expression is not anchored: `kube-system` also matches `my-kube-system-2`. An empty
    /// expression matches all.
    pub(super) fn matching(expression: &str) -> Result<Self, regex::Error> {
        Ok(Self { expression: Some(Regex::new(expression)?), also: None })
    }

    /// Selects only this namespace.
    pub(super) fn only(namespace: &str) -> Self {
        Self { expression: None, also: Some(namespace.to_owned()) }
    }

    /// Adds this namespace to the selection.
    pub(super) fn and(mut self, namespace: &str) -> Self {
        self.also = Some(namespace.to_owned());
        self
    }

    /// Returns true if a namespace is selected.
    pub(super) fn takes(&self, namespace: &str) -> bool {
        self.also.as_deref() == Some(namespace)
            || self.expression.as_ref().is_some_and(|expression| expression.is_match(namespace))
    }
}

/// How to request the objects of the selected namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// One list over all namespaces.
    All,
    /// One list for each of these namespaces.
    Each(Vec<String>),
}

/// Returns the cheapest way to list the namespaces of `all` that `filter` selects. If it selects
/// all of several, one list is enough.
pub(super) fn scope(all: &[String], filter: &NamespaceFilter) -> Scope {
    let taken: Vec<String> = all.iter().filter(|name| filter.takes(name)).cloned().collect();
    if taken.len() == all.len() && taken.len() > 1 { Scope::All } else { Scope::Each(taken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn expressions_are_not_anchored_and_names_are() {
        let filter = NamespaceFilter::matching("kube-system").unwrap().and("run");
        assert!(filter.takes("kube-system") && filter.takes("my-kube-system-2") && filter.takes("run"));
        assert!(!filter.takes("running") && !filter.takes("default"));
        assert!(NamespaceFilter::matching("(").is_err());
        assert!(!NamespaceFilter::default().takes("x"));
    }

    #[test]
    fn one_list_does_when_everything_is_wanted() {
        let all = names(&["a", "b"]);
        assert_eq!(scope(&all, &NamespaceFilter::matching(".*").unwrap()), Scope::All);
        assert_eq!(scope(&all, &NamespaceFilter::only("b")), Scope::Each(names(&["b"])));
        assert_eq!(scope(&names(&["a"]), &NamespaceFilter::matching("").unwrap()), Scope::Each(names(&["a"])));
        assert_eq!(scope(&[], &NamespaceFilter::matching("").unwrap()), Scope::Each(Vec::new()));
    }
}

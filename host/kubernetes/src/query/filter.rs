//! Which namespaces are looked at.

use regex::Regex;

/// A choice of namespaces: an expression that is searched for anywhere in the name, and names that belong to it in any case.
#[derive(Debug, Clone, Default)]
pub(super) struct NamespaceFilter {
    expression: Option<Regex>,
    also: Option<String>,
}

impl NamespaceFilter {
    /// All namespaces whose name matches `expression`, which is not anchored: `kube-system` also matches `my-kube-system-2`. The empty
    /// expression matches all.
    pub(super) fn matching(expression: &str) -> Result<Self, regex::Error> {
        Ok(Self { expression: Some(Regex::new(expression)?), also: None })
    }

    /// Only this namespace.
    pub(super) fn only(namespace: &str) -> Self {
        Self { expression: None, also: Some(namespace.to_owned()) }
    }

    /// This namespace as well.
    pub(super) fn and(mut self, namespace: &str) -> Self {
        self.also = Some(namespace.to_owned());
        self
    }

    /// Whether a namespace belongs to the choice.
    pub(super) fn takes(&self, namespace: &str) -> bool {
        self.also.as_deref() == Some(namespace)
            || self.expression.as_ref().is_some_and(|expression| expression.is_match(namespace))
    }
}

/// How the objects of the chosen namespaces are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// In one list over all namespaces.
    All,
    /// With one list for each of these.
    Each(Vec<String>),
}

/// The cheapest way to the namespaces that `filter` takes out of `all`: one list if it takes every one of several.
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

//! Selects namespaces, and validates label selectors.

use regex::Regex;

use super::record::Recorder;

/// Selects namespaces by a regular expression that may match anywhere in the name, and by one exact
/// name.
#[derive(Debug, Clone, Default)]
pub(super) struct NamespaceFilter {
    expression: Option<Regex>,
    /// A namespace that is selected whatever the expression is.
    pub(super) also: Option<String>,
}

impl NamespaceFilter {
    /// Selects all namespaces whose name matches `expression`.
    ///
    /// The expression is not anchored: `kube-system` also matches `my-kube-system-2`. An empty
    /// expression matches all.
    pub(super) fn matching(expression: &str) -> Result<Self, regex::Error> {
        Ok(Self { expression: Some(Regex::new(expression)?), also: None })
    }

    pub(super) fn only(namespace: &str) -> Self {
        Self { expression: None, also: Some(namespace.to_owned()) }
    }

    pub(super) fn takes(&self, namespace: &str) -> bool {
        self.also.as_deref() == Some(namespace)
            || self.expression.as_ref().is_some_and(|expression| expression.is_match(namespace))
    }
}

/// Returns the namespaces of `all` that `filter` selects, and whether one list over all namespaces
/// is enough for their objects, because it selects all of several.
pub(super) fn selected(all: &[String], filter: &NamespaceFilter) -> (Vec<String>, bool) {
    let taken: Vec<String> = all.iter().filter(|name| filter.takes(name)).cloned().collect();
    let in_one_list = taken.len() == all.len() && taken.len() > 1;
    (taken, in_one_list)
}

/// Returns a label selector. An invalid one is recorded for `query`, and replaced by the empty one,
/// which selects everything. `what` is its name in messages.
pub(super) fn valid_selector(record: &Recorder<'_>, query: &str, what: &str, selector: &str) -> String {
    match selector_problem(selector) {
        None => selector.to_owned(),
        Some(why) => {
            record.problem(query, "", format!("{what} is left out: {why}"));
            String::new()
        }
    }
}

/// Returns what is wrong with a label selector, or `None` if it is valid. The empty selector
/// selects everything.
///
/// An invalid one is reported once instead of by every list.
fn selector_problem(selector: &str) -> Option<String> {
    if selector.trim().is_empty() {
        return None;
    }
    let mut depth = 0_u32;
    // A comma within parentheses does not separate requirements.
    let mut requirements = selector.split(|c| {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    requirements.find_map(|requirement| requirement_problem(requirement.trim()))
}

fn requirement_problem(part: &str) -> Option<String> {
    let bad = |why: &str| Some(format!("`{part}` {why}"));
    if part.is_empty() {
        return bad("is an empty requirement");
    }
    if let Some(key) = part.strip_prefix('!') {
        return if is_key(key.trim()) { None } else { bad("does not negate a label's key") };
    }
    // Longer operators come first, because they contain `=`.
    for operator in ["!=", "==", "=", ">", "<"] {
        if let Some((key, value)) = part.split_once(operator) {
            let number = matches!(operator, ">" | "<");
            let fits = if number { value.trim().parse::<i64>().is_ok() } else { is_value(value.trim()) };
            return match (is_key(key.trim()), fits) {
                (false, _) => bad("does not begin with a label's key"),
                (_, false) => bad("does not end with a value that a label may have"),
                _ => None,
            };
        }
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else {
        return if is_key(part) { None } else { bad("is not a label's key") };
    };
    let values = ["notin", "in"]
        .iter()
        .find_map(|word| rest.trim().strip_prefix(word))
        .and_then(|rest| rest.trim().strip_prefix('(')?.strip_suffix(')'));
    match values {
        Some(values) if is_key(key) && values.split(',').all(|value| is_value(value.trim())) => None,
        _ => bad("is not of the form `KEY in (VALUE, ...)`"),
    }
}

/// Returns true for a qualified name: an optional DNS prefix and a slash, and a name of at most 63
/// characters.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty()
        && is_value(name)
        && prefix.is_none_or(|prefix| {
            !prefix.is_empty()
                && prefix.len() <= 253
                && prefix.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
        })
}

/// Returns true for a label value.
///
/// It is empty, or has at most 63 characters (letters, digits, `-`, `_`, `.`) with a letter or
/// digit at both ends.
fn is_value(value: &str) -> bool {
    let end = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    value.len() <= 63
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && end(value.bytes().next())
        && end(value.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn expressions_are_not_anchored_and_names_are() {
        let filter = NamespaceFilter { also: Some("run".into()), ..NamespaceFilter::matching("kube-system").unwrap() };
        assert!(filter.takes("kube-system") && filter.takes("my-kube-system-2") && filter.takes("run"));
        assert!(!filter.takes("running") && !filter.takes("default"));
        assert!(NamespaceFilter::matching("(").is_err());
        assert!(!NamespaceFilter::default().takes("x"));
    }

    #[test]
    fn one_list_does_when_everything_is_wanted() {
        let all = names(&["a", "b"]);
        assert_eq!(selected(&all, &NamespaceFilter::matching(".*").unwrap()), (all.clone(), true));
        assert_eq!(selected(&all, &NamespaceFilter::only("b")), (names(&["b"]), false));
        assert_eq!(selected(&names(&["a"]), &NamespaceFilter::matching("").unwrap()), (names(&["a"]), false));
        assert_eq!(selected(&[], &NamespaceFilter::matching("").unwrap()), (Vec::new(), false));
    }

    #[test]
    fn selectors_of_every_kind_are_understood() {
        for good in [
            "",
            "app",
            "!app",
            "app=web",
            "app == web",
            "app!=web,tier=",
            "example.org/app in (a, b),x notin (c)",
            "n>3,m<4",
        ] {
            assert_eq!(selector_problem(good), None, "{good}");
        }
        for bad in
            ["=x", "app=a b", "app in a", "app in (a", "a,,b", "!", "a/b/c", "app=-x", "n>many", "bad key(", "a b c"]
        {
            assert!(selector_problem(bad).is_some(), "{bad}");
        }
    }
}

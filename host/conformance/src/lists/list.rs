//! Lists of tests.

use super::version::Version;

/// Name of the suite. Tests are selected by this name, a space and their own name.
pub const SUITE: &str = "Kubernetes e2e suite";

/// Prefix of test names in reports and lists.
const MARK: &str = "[It]";

/// Prefixes of the suite's setup and teardown nodes. Reports and lists contain them, but focus and
/// skip do not apply to them.
const NODES: [&str; 8] = [
    "[AfterSuite]",
    "[BeforeSuite]",
    "[DeferCleanup (Suite)]",
    "[ReportAfterSuite]",
    "[ReportBeforeSuite]",
    "[SynchronizedAfterSuite]",
    "[SynchronizedBeforeSuite]",
    "[TOP-LEVEL]",
];

/// Names of the tests of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestList {
    /// Version of the list, such as `v1.30.2`. Empty if it is not known.
    pub version: String,
    /// Names without `[It] `, sorted and unique. Setup and teardown nodes are included
    /// ([`is_suite_node`]).
    pub tests: Vec<String>,
    /// Source of the list, for messages.
    pub source: String,
}

impl TestList {
    /// Creates a list of `names`. They can be in any order, contain duplicates, and have the prefix
    /// `[It] `.
    #[must_use]
    pub fn new<'a>(version: &str, names: impl IntoIterator<Item = &'a str>, source: &str) -> Self {
        let names = names.into_iter().map(plain_name).filter(|name| !name.is_empty());
        let mut tests: Vec<String> = names.map(str::to_owned).collect();
        tests.sort_unstable();
        tests.dedup();
        Self { version: version.to_owned(), tests, source: source.to_owned() }
    }

    /// Returns the tests without setup and teardown nodes.
    pub fn specs(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(String::as_str).filter(|name| !is_suite_node(name))
    }

    /// Returns a sentence for users who requested `version` and get this list. `None` if the list
    /// is of that version, or its version is not known.
    #[must_use]
    pub fn stands_in_for(&self, version: &str) -> Option<String> {
        let name = Version::parse(version)?.name();
        if self.version.is_empty() || self.version == name {
            return None;
        }
        let minor = Version::parse(&self.version)
            .is_some_and(|own| Version::parse(&name).is_some_and(|of| own.same_minor(&of)));
        let means = if minor { "" } else { ", although tests were added and renamed since" };
        Some(format!("no list of the tests of {name} in {}: using that of {}{means}", self.source, self.version))
    }
}

/// Returns a name without the prefix of reports and without surrounding whitespace.
#[must_use]
pub fn plain_name(name: &str) -> &str {
    let name = name.trim();
    let marked = name.strip_prefix(MARK).filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    marked.map_or(name, str::trim_start)
}

/// Returns whether the name is a setup or teardown node of the suite, not a test.
#[must_use]
pub fn is_suite_node(name: &str) -> bool {
    let name = plain_name(name);
    NODES.iter().any(|node| name.starts_with(node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_sorted_and_there_once() {
        let list =
            TestList::new("v1.30.2", [" [It] b [It] c ", "a", "", "[It] a", "  ", "[SynchronizedBeforeSuite]"], "x");
        assert_eq!(list.tests, ["[SynchronizedBeforeSuite]", "a", "b [It] c"]);
        assert_eq!(list.specs().collect::<Vec<_>>(), ["a", "b [It] c"]);
    }

    #[test]
    fn a_mark_alone_is_no_name() {
        for (name, plain) in [("[It]", ""), ("[It]x", "[It]x"), ("  [It]  x ", "x"), ("x [It] y", "x [It] y")] {
            assert_eq!(plain_name(name), plain, "{name}");
        }
    }

    #[test]
    fn a_list_says_for_whom_it_stands_in() {
        let list = TestList::new("v1.30.2", ["a"], "this program");
        assert_eq!(list.stands_in_for("1.30.2+k3s1"), None);
        assert!(list.stands_in_for("v1.30.9").is_some_and(|said| said.contains("v1.30.9") && said.contains("v1.30.2")));
    }
}

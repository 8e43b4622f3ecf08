//! Names of tests, as judges compare them.

use std::borrow::Cow;

/// The prefix that Ginkgo adds to the names of its tests in JUnit files only.
const NODE_KIND: &str = "[It]";

/// Returns `name` without a leading `[It] ` and without surrounding white space.
#[must_use]
pub fn plain(name: &str) -> &str {
    let name = name.trim();
    match name.strip_prefix(NODE_KIND) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => name,
    }
}

/// The metadata key of a test's class.
const CLASS: &str = "classname";

/// Returns `name` followed by the class of the test in parentheses, as all reports show it: `test_x
/// (tests.test_a)`. Without a class, returns `name`.
#[must_use]
pub fn with_class<'a>(name: &'a str, meta: &[(String, String)]) -> Cow<'a, str> {
    match meta.iter().find(|(key, class)| key == CLASS && !class.is_empty()) {
        Some((_, class)) => Cow::Owned(format!("{name} ({class})")),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_node_and_blanks_are_not_part_of_a_name() {
        for (name, same) in [
            ("[It] [sig-apps] Job should run", "[sig-apps] Job should run"),
            ("  [It]   a ", "a"),
            ("[Item] a", "[Item] a"),
            ("[It]", "[It]"),
            ("a [It] b", "a [It] b"),
        ] {
            assert_eq!(plain(name), same);
        }
    }

    #[test]
    fn a_class_is_shown_in_brackets() {
        let meta = |key: &str| [(key.to_owned(), "tests.a".to_owned())];
        assert_eq!(with_class("x", &meta("classname")), "x (tests.a)");
        assert_eq!(with_class("x", &meta("file")), "x");
    }
}

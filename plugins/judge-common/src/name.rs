//! Names of tests, as they are compared.

/// What ginkgo writes before the names of its tests in JUnit files, and nowhere else.
const NODE_KIND: &str = "[It]";

/// `name` without a leading `[It] ` and without blanks around it.
#[must_use]
pub fn plain(name: &str) -> &str {
    let name = name.trim();
    match name.strip_prefix(NODE_KIND) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_node_and_blanks_are_no_part_of_a_name() {
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
}

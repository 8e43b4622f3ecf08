//! Names that the server tells, before they become names of files or parts of paths.

/// The longest name of an object (a DNS subdomain), and short enough for every file system with an extension behind it.
const MAX_NAME: usize = 253;

/// Whether a name from the server may stand in a path: letters, digits, `-`, `_` and `.`, beginning with a letter or digit. Names of pods,
/// nodes, namespaces, containers, groups, versions and resources are of this kind on every server that checks them; anything else
/// (`..`, a slash, NUL) is somebody's attempt to write elsewhere.
pub(crate) fn is_safe_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_become_file_names() {
        for name in ["kube-system", "n1.example.org", "v1", "rbac.authorization.k8s.io", "A_b"] {
            assert!(is_safe_name(name), "{name}");
        }
        let long = "x".repeat(254);
        for name in ["", ".", "..", "../x", "a/b", "a\0b", "-x", "a b", "ä", "a\\b", "%2e", &long] {
            assert!(!is_safe_name(name), "{name:?}");
        }
    }
}

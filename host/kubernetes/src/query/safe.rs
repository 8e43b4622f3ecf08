//! Validates names from the server before they are used in file names or paths.

/// Maximum length of an object name (a DNS subdomain). With an extension, it still fits into every
/// file system.
const MAX_NAME: usize = 253;

/// Returns true if a name from the server is safe in a path.
///
/// It may contain letters, digits, `-`, `_` and `.`, and must start with a letter or digit. On
/// every server that validates them, names of pods, nodes, namespaces, containers, groups, versions
/// and resources are like this. Anything else (`..`, a slash, NUL) is an attempt to write
/// elsewhere.
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

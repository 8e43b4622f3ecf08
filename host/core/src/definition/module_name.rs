//! The rules for names of modules.

/// The maximum length of a module name in bytes.
pub const MAX_MODULE_NAME: usize = 63;

/// Returns whether `text` is a valid module name: lower-case letters, digits, `-`, `_` and `.`,
/// with a letter or digit at both ends.
///
/// The limit is [`MAX_MODULE_NAME`] bytes. A valid name is safe as the stem of a file name
/// (`NAME.wasm`).
#[must_use]
pub fn is_module_name(text: &str) -> bool {
    fn edge(b: u8) -> bool {
        b.is_ascii_lowercase() || b.is_ascii_digit()
    }
    let bytes = text.as_bytes();
    text.len() <= MAX_MODULE_NAME
        && matches!((bytes.first(), bytes.last()), (Some(&a), Some(&z)) if edge(a) && edge(z))
        && bytes.iter().all(|&b| edge(b) || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::is_module_name;

    #[test]
    fn names_are_safe_as_file_stems() {
        for good in ["junit", "e2e", "go-json", "a.b_c", "7"] {
            assert!(is_module_name(good), "{good}");
        }
        for bad in ["", "JUnit", "../junit", "a/b", "-a", "a.", ".a", "a b", "ünit", &"a".repeat(64)] {
            assert!(!is_module_name(bad), "{bad}");
        }
    }
}

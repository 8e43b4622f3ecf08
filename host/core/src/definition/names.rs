//! Names of modules and files in definitions.

use crate::name::is_label;

/// The maximum length of a module name in bytes.
pub const MAX_MODULE_NAME: usize = 63;

/// Returns whether `text` is a valid module name: lower-case letters, digits, `-`, `_` and `.`,
/// with a letter or digit at both ends.
///
/// The limit is [`MAX_MODULE_NAME`] bytes. A valid name is safe as the stem of a file name
/// (`NAME.wasm`).
#[must_use]
pub fn is_module_name(text: &str) -> bool {
    text.len() <= MAX_MODULE_NAME && is_label(text, "-_.")
}

/// Returns whether Kubernetes accepts `key` as a key of a ConfigMap.
pub(super) fn is_file_name(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && key != "."
        && !key.starts_with("..")
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! Limits for untrusted texts.

/// Maximum size of a name in bytes.
const MAX_NAME: usize = 1000;

/// Returns `text` as a name: not empty, and short.
#[must_use]
pub fn name(text: &str) -> String {
    if text.is_empty() { "(no name)".to_owned() } else { cut(text, MAX_NAME) }
}

/// Returns at most `max` bytes of `text`, with a mark if something was cut.
#[must_use]
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(max)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_empty_and_never_long() {
        assert_eq!(name(""), "(no name)");
        assert_eq!(name(&"ü".repeat(2000)).len(), MAX_NAME + '…'.len_utf8());
    }
}

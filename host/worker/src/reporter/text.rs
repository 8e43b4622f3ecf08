//! Truncates strings.

/// Returns at most `max` characters of a string, after trimming white space.
pub(crate) fn clipped(text: &str, max: usize) -> String {
    text.trim().chars().take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(clipped("  äöü  ", 2), "äö");
        assert_eq!(clipped("\u{a0}x\n", 9), "x");
        assert_eq!(clipped(" \t ", 9), "");
    }
}

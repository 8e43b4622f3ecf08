//! Names as regular expressions of Go.

/// Characters that mean something in a regular expression of Go: those that its own quoting puts a backslash before.
const SPECIAL: &[char] = &['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'];

/// `text` as a regular expression of Go (RE2) that matches this very text.
#[must_use]
pub fn go_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if SPECIAL.contains(&c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_is_escaped_and_nothing_else() {
        assert_eq!(
            go_quote("[sig-node] a+b (c) {d} \\ ^$ x|y *.?"),
            r"\[sig-node\] a\+b \(c\) \{d\} \\ \^\$ x\|y \*\.\?"
        );
        assert_eq!(go_quote("plain text-1_2/é, \"q\" 'r' #&~"), "plain text-1_2/é, \"q\" 'r' #&~");
    }
}

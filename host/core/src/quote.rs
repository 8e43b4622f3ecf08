//! Quoting for Go regular expressions and POSIX shells.

use std::path::Path;

/// The special characters of Go regular expressions, as in Go's own `QuoteMeta`.
const SPECIAL: &[char] = &['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'];

/// Returns a Go regular expression (RE2) that matches exactly `text`.
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

/// Quotes `text` as one word of a POSIX shell command. Text that is safe stays unchanged, and other
/// text is put in single quotes.
#[must_use]
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%_+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes `path` as one argument of a POSIX shell command that no program mistakes for an option.
#[must_use]
pub fn shell_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.starts_with('-') { shell_quote(&format!("./{text}")) } else { shell_quote(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_one_word() {
        for (text, quoted) in [
            ("./202611201300_plumbline_7f3a9c.tar.gz", "./202611201300_plumbline_7f3a9c.tar.gz"),
            ("my results/a.tar.gz", "'my results/a.tar.gz'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("~/x", "'~/x'"),
            ("", "''"),
        ] {
            assert_eq!(shell_quote(text), quoted);
        }
        assert_eq!(shell_path(Path::new("-x y")), "'./-x y'");
    }

    #[test]
    fn what_means_something_is_escaped_and_nothing_else() {
        assert_eq!(
            go_quote("[sig-node] a+b (c) {d} \\ ^$ x|y *.?"),
            r"\[sig-node\] a\+b \(c\) \{d\} \\ \^\$ x\|y \*\.\?"
        );
        assert_eq!(go_quote("plain text-1_2/é, \"q\" 'r' #&~"), "plain text-1_2/é, \"q\" 'r' #&~");
    }
}

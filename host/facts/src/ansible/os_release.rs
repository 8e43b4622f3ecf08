//! `os-release(5)`, and other files of shell assignments.

use std::collections::BTreeMap;

use crate::source::{SMALL, Source, Unreadable};

/// Paths of the distribution's description in order of preference, according to `os-release(5)`.
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// The assignments of a file, by name.
pub(super) type Assignments = BTreeMap<String, String>;

/// Returns the description of the distribution, and its path.
pub(super) fn os_release(source: &Source) -> Result<(&'static str, Assignments), Unreadable> {
    let [first, second] = OS_RELEASE;
    match assignments(source, first) {
        Ok(found) => Ok((first, found)),
        Err(reason) if reason.is_missing() => Ok((second, assignments(source, second)?)),
        Err(reason) => Err(reason),
    }
}

/// Returns the assignments of the file at `path`.
pub(super) fn assignments(source: &Source, path: &str) -> Result<Assignments, Unreadable> {
    let found: Assignments = source.text(path, SMALL)?.lines().filter_map(assignment).collect();
    if found.is_empty() { Err(Unreadable::malformed(path, "holds no `KEY=value` line")) } else { Ok(found) }
}

/// Parses a shell assignment without expansions. Returns `None` for comments and other lines.
fn assignment(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim().split_once('=')?;
    let is_name = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| (key.to_owned(), unquote(value)))
}

/// Removes quotes from a value as a shell does. A backslash escapes the next character, except
/// between single quotes.
fn unquote(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut quote = None;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => plain.extend(chars.next()),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_a_shell_reads_them() {
        for (line, value) in [
            ("NAME=Debian", "Debian"),
            (r#"NAME="Red Hat Enterprise Linux""#, "Red Hat Enterprise Linux"),
            ("NAME='Alpine Linux'", "Alpine Linux"),
            (r#"NAME="A \"quoted\" \$name""#, r#"A "quoted" $name"#),
            (r"NAME='back\slash'", r"back\slash"),
            ("NAME=", ""),
            (r#"NAME="a=b""#, "a=b"),
        ] {
            assert_eq!(assignment(line), Some(("NAME".to_owned(), value.to_owned())), "{line}");
        }
        for line in ["# NAME=x", "", "NAME", "=x", "a b=c"] {
            assert_eq!(assignment(line), None, "{line}");
        }
    }
}

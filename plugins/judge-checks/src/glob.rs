//! Glob patterns of paths.

use regex::bytes::Regex;

use crate::pattern;

/// Compiles a glob pattern. `**` matches any text, `*` any text without `/`, `?` one character
/// except `/`, and `{a,b}` one of several texts.
pub(crate) fn compile(glob: &str) -> Result<Regex, String> {
    let mut text = String::from("^");
    let mut open = false;
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.next_if_eq(&'*').is_some() => match rest.next_if_eq(&'/') {
                // `**/` also matches no directory at all.
                Some(_) => text.push_str("(?:.*/)?"),
                None => text.push_str(".*"),
            },
            '*' => text.push_str("[^/]*"),
            '?' => text.push_str("[^/]"),
            '{' if !open => {
                open = true;
                text.push_str("(?:");
            }
            ',' if open => text.push('|'),
            '}' if open => {
                open = false;
                text.push(')');
            }
            '[' | ']' | '{' | '}' => return Err(format!("`{c}` has no meaning in the pattern `{glob}`")),
            c => text.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    if open {
        return Err(format!("a `{{` is not closed in the pattern `{glob}`"));
    }
    text.push('$');
    pattern::compile(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stop_at_directories_unless_there_are_two() {
        for (glob, path, fits) in [
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs/kube-system/etcd-n1/logs/etcd.txt", true),
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs/kube-system/etcd-n1/x/logs/etcd.txt", false),
            ("podlogs/**/etcd.txt", "podlogs/kube-system/etcd-n1/logs/etcd.txt", true),
            ("podlogs/**/etcd.txt", "podlogs/etcd.txt", true),
            ("podlogs/**", "podlogs/a/b", true),
            ("a.txt", "aetxt", false),
            ("a?", "ab", true),
            ("a?", "a/", false),
            ("x/{a,b}.log", "x/b.log", true),
            ("x/{a,b}.log", "x/c.log", false),
        ] {
            assert_eq!(compile(glob).unwrap().is_match(path.as_bytes()), fits, "{glob} {path}");
        }
        assert!(compile("a[b]").unwrap_err().contains("`[` has no meaning"));
        assert!(compile("{a").unwrap_err().contains("not closed"));
    }
}

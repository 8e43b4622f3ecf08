//! Replaces what differs from run to run, so that the rest can be compared.

use std::path::Path;

/// Returns `text` with the directory, IDs, times and sizes replaced.
pub(crate) fn filtered(text: &str, dir: &Path) -> String {
    let mut text =
        text.replace(dir.canonicalize().unwrap().to_str().unwrap(), "[DIR]").replace(dir.to_str().unwrap(), "[DIR]");
    while let Some(id) = find(&text, 36, is_uuid) {
        text = text.replace(&id, "[RUN]").replace(&format!("run {}", &id[..6]), "run [ID]");
    }
    while let Some(head) = find(&text, 10, is_run) {
        text = text.replace(&head, "run [ID]");
    }
    for (suffix, mark, is) in PATTERNS {
        text = marked(&text, suffix, mark, is);
    }
    text.replace("([N] KiB)", "([SIZE])").replace("([N] B)", "([SIZE])")
}

type Pattern = (&'static str, &'static str, fn(char) -> bool);

/// Suffixes, the replacement of the characters before each, and which characters are replaced.
const PATTERNS: [Pattern; 6] = [
    ("_plumbline_", "[TIME]", |c| c.is_ascii_digit()),
    ("Z", "[AT]", |c| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T')),
    (" s\n", "[N]", |c| c.is_ascii_digit() || c == '.'),
    (" s ago", "[N]", |c| c.is_ascii_digit()),
    (" KiB)", "[N]", |c| c.is_ascii_digit() || c == '.'),
    (" B)", "[N]", |c| c.is_ascii_digit()),
];

fn marked(text: &str, suffix: &str, mark: &str, is: fn(char) -> bool) -> String {
    let mut out = String::new();
    let mut parts = text.split(suffix).peekable();
    while let Some(part) = parts.next() {
        let kept = part.trim_end_matches(is);
        if parts.peek().is_none() {
            out.push_str(part);
        } else if kept.len() + 1 < part.len() || (part.len() > kept.len() && suffix != "Z") {
            out.push_str(kept);
            out.push_str(mark);
            out.push_str(suffix);
        } else {
            out.push_str(part);
            out.push_str(suffix);
        }
    }
    out
}

fn find(text: &str, len: usize, is: fn(&str) -> bool) -> Option<String> {
    (0..text.len()).filter_map(|at| text.get(at..at + len)).find(|part| is(part)).map(str::to_owned)
}

/// Whether `text` is `run ` and a short ID.
fn is_run(text: &str) -> bool {
    text.strip_prefix("run ").is_some_and(|id| id.chars().all(|c| c.is_ascii_hexdigit()))
}

fn is_uuid(text: &str) -> bool {
    text.char_indices().all(|(at, c)| if matches!(at, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() })
}

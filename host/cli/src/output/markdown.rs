//! Trees as Markdown, for a job summary or a comment.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_core::{Item, Status};
use serde_json::Value;

use super::duration::{seconds_of, short_seconds};
use super::text::one_line;

/// Failed leaves that are listed; of more it is said how many there are.
const MAX_LISTED: usize = 50;

/// The slowest leaves of a plugin that are listed.
const MAX_SLOWEST: usize = 5;

/// Seconds from which on a leaf is slow enough to be listed.
const SLOW: f64 = 1.0;

/// Prints a table of plugins and, below it, what failed in each.
pub(crate) fn markdown(roots: &[Item], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| plugin | status | passed | failed | skipped | other |")?;
    writeln!(out, "|---|---|---:|---:|---:|---:|")?;
    for root in roots {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for leaf in root.leaves() {
            *counts.entry(if leaf.status == Status::Timeout { "failed" } else { leaf.status.as_str() }).or_default() +=
                1;
        }
        let mut take = |status: &str| counts.remove(status).unwrap_or_default();
        let (passed, failed, skipped) = (take("passed"), take("failed"), take("skipped"));
        let other: u64 = counts.values().sum();
        let (name, status) = (escape(&root.name), escape(&root.status.brief()));
        writeln!(out, "| {name} | {status} | {passed} | {failed} | {skipped} | {other} |")?;
    }
    for root in roots {
        let bad = || root.leaves().filter(|leaf| matches!(leaf.status, Status::Failed | Status::Timeout));
        let count = bad().count();
        if count == 0 {
            continue;
        }
        writeln!(out, "\n### {}: {count} failed\n", escape(&root.name))?;
        for leaf in bad().take(MAX_LISTED) {
            let reason = reason(leaf).map(|text| format!(": {}", escape(&text))).unwrap_or_default();
            let took = seconds_of(leaf).map(|seconds| format!(" ({})", short_seconds(seconds))).unwrap_or_default();
            writeln!(out, "- **{}**{took}{reason}", escape(&leaf.name))?;
        }
        if count > MAX_LISTED {
            writeln!(out, "- and {} more", count - MAX_LISTED)?;
        }
    }
    for root in roots {
        slowest(root, out)?;
    }
    Ok(())
}

/// What took longest in a plugin whose items say how long they took, if it is worth a look.
fn slowest(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let mut slow: Vec<(f64, &Item)> = root
        .leaves()
        .filter_map(|leaf| Some((seconds_of(leaf)?, leaf)))
        .filter(|(seconds, _)| *seconds >= SLOW)
        .collect();
    if slow.is_empty() {
        return Ok(());
    }
    slow.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    writeln!(out, "\n### {}: slowest\n", escape(&root.name))?;
    writeln!(out, "| took | status | |\n|---:|---|---|")?;
    for (seconds, leaf) in slow.into_iter().take(MAX_SLOWEST) {
        let (status, name) = (escape(leaf.status.as_str()), escape(&leaf.name));
        writeln!(out, "| {} | {status} | {name} |", short_seconds(seconds))?;
    }
    Ok(())
}

/// The first line of why `leaf` failed.
pub(super) fn reason(leaf: &Item) -> Option<String> {
    let text = ["failure", "error"].iter().find_map(|key| match leaf.details.get(*key)? {
        Value::String(text) => Some(text.clone()),
        _ => None,
    });
    let text = text.or_else(|| leaf.meta.get("error").cloned())?;
    Some(one_line(&text)).filter(|line| !line.is_empty() && *line != leaf.name)
}

/// One line that Markdown and HTML show as it is.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A mention would notify somebody.
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_names_stay_text() {
        let failed = Item {
            name: "a|b <script> @you".into(),
            status: Status::Failed,
            details: [("failure".to_owned(), "\n[x](y)\nmore".into())].into_iter().collect(),
            ..Item::default()
        };
        let root = Item { name: "p".into(), status: Status::Failed, items: vec![failed], ..Item::default() };
        let mut out = Vec::new();
        markdown(&[root], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("| p | failed | 0 | 1 | 0 | 0 |"), "{text}");
        assert!(text.contains(r"- **a\|b &lt;script&gt; &#64;you**: \[x\](y)"), "{text}");
    }
}

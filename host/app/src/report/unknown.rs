//! Items whose outcome is unknown, as text: their names, and why nothing is known.

use std::io::{self, Write};

use plumbline_core::{GLOBAL, Item, Status, reason};

use crate::report::text::{name, one_line};

/// The most items in the list. Further ones are only counted.
const MAX_LISTED: usize = 100;

/// Prints the leaves below `root` that are `unknown`, to follow the summary of a plugin.
pub fn unknown_report(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let (mut leaves, mut count) = (root.leaves(), 0);
    while let Some(leaf) = leaves.next() {
        if leaf.status != Status::Unknown {
            continue;
        }
        count += 1;
        if count == 1 {
            writeln!(out, "\nUnknown:")?;
        }
        if count > MAX_LISTED {
            continue;
        }
        let is_node = |item: &&Item| item.meta.get("type").is_some_and(|kind| kind == "node") && item.name != GLOBAL;
        let node = leaves.walk().ancestors().find(is_node);
        let node = node.map(|node| format!(" ({})", node.name)).unwrap_or_default();
        // The name of a file that could not be read has the reason already.
        let why = reason(&leaf.name, &leaf.details, &leaf.meta).filter(|why| !leaf.name.contains(why.as_str()));
        let why = why.map(|why| format!(": {}", one_line(&why))).unwrap_or_default();
        writeln!(out, "{}{}{why}", name(&leaf.name), name(&node))?;
    }
    match count.saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_items_are_listed_with_their_reasons() {
        let root = json!({"name": "p", "status": "unknown", "items": [
            {"name": "lab1", "status": "unknown", "meta": {"type": "node"}, "items": [
                {"name": "quota", "status": "unknown", "details": {"error": "the API server did not answer"}},
                {"name": "time", "status": "passed"},
            ]},
            {"name": "unreadable: the file ends early", "status": "unknown", "meta": {"error": "the file ends early"}},
        ]});
        let root: Item = serde_json::from_value(root).unwrap();
        let text = |root: &Item| {
            let mut out = Vec::new();
            unknown_report(root, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(&root),
            "\nUnknown:\nquota (lab1): the API server did not answer\nunreadable: the file ends early\n"
        );
        let many = Item { items: vec![root.items[1].clone(); MAX_LISTED + 2], ..root };
        assert!(text(&many).ends_with("early\nand 2 more\n"));
        let none = Item { items: Vec::new(), status: Status::Passed, ..many };
        assert_eq!(text(&none), "");
    }
}

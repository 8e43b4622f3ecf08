//! Reads result trees.

use std::io::{self, BufReader, Read};

use plumbline_aggregator::{LeanLimits, read_lean};
use plumbline_core::Item;

/// The largest tree that is read completely, in bytes. Reading takes several times as much memory.
const MAX_BYTES: u64 = 1 << 30;

/// Reads a tree of `bytes` bytes: completely up to 1 GiB, otherwise without the details of passed
/// items ([`read_lean`]). Returns the tree and the number of details that were left out.
///
/// # Errors
/// As [`read_tree`] and [`read_lean`].
pub(super) fn read_tree_of(from: impl Read, bytes: u64) -> io::Result<(Item, u64)> {
    if bytes <= MAX_BYTES {
        return Ok((read_tree(from)?, 0));
    }
    let lean = read_lean(BufReader::new(from), &LeanLimits::default())?;
    Ok((lean.root, lean.left_out))
}

/// Reads a tree: YAML, of which JSON is a part.
///
/// # Errors
/// The tree is larger than 1 GiB, or it is invalid.
pub fn read_tree(from: impl Read) -> io::Result<Item> {
    let mut text = String::new();
    let read = from.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("the result tree is larger than {} GiB", MAX_BYTES >> 30)));
    }
    Item::parse(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_other_tools_is_read() {
        let yaml = "name: systemd-logs\nstatus: passed\nmeta:\n  type: summary\nitems:\n- name: n1\n  status: passed\n  items:\n  \
                    - name: '1.0'\n    status: failed\n    details:\n      n: 1.5\n      list: [a, {b: c}]\n";
        let item = read_tree(yaml.as_bytes()).unwrap();
        assert_eq!(item.items[0].items[0].details["list"][1]["b"], "c");
        assert_eq!(item.items[0].items[0].details["n"], 1.5);
        assert_eq!(read_tree(serde_json::to_string(&item).unwrap().as_bytes()).unwrap(), item);
    }

    #[test]
    fn a_tree_larger_than_what_is_held_is_read_without_details() {
        let yaml = "name: p\nstatus: failed\nmeta:\n  type: summary\nitems:\n- name: a\n  status: passed\n  details:\n    x: \"1\"\n- name: b\n  status: failed\n  details:\n    failure: why\n";
        let (root, left_out) = read_tree_of(yaml.as_bytes(), MAX_BYTES + 1).unwrap();
        assert_eq!((left_out, root.items.len()), (1, 2));
        assert_eq!(root.items[1].details["failure"], "why");
        assert!(read_tree_of("- foreign".as_bytes(), MAX_BYTES + 1).is_err());
    }

    #[test]
    fn rubbish_is_an_error() {
        for bad in ["- a", "name: [", "\u{0}"] {
            assert!(read_tree(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let bomb = "name: &a [x, x]\nitems: [*a, *a]\n";
        assert!(read_tree(bomb.as_bytes()).is_err());
    }

    #[test]
    fn a_hundred_thousand_items_are_read() {
        let mut yaml = String::from("name: p\nstatus: passed\nitems:\n");
        for n in 0..100_000 {
            yaml.push_str(&format!("- name: \"test {n}\"\n  status: passed\n"));
        }
        assert_eq!(read_tree(yaml.as_bytes()).unwrap().items.len(), 100_000);
    }
}

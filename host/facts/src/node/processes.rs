//! Processes whose arguments name their configuration.

use std::collections::BTreeMap;

use crate::source::{SMALL, Source};

/// The arguments of the processes that were found, by program name.
///
/// Arguments may hold secrets and are never reported. Only the values of known options are read.
pub(super) type Processes = BTreeMap<String, Vec<String>>;

/// Finds processes with these names that belong to root. Other users can give their processes any
/// name.
pub(super) fn find(source: &Source, names: &[&str]) -> Processes {
    let mut found = Processes::new();
    for entry in source.names("/proc").unwrap_or_default() {
        if !entry.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let Ok(name) = source.value(&format!("/proc/{entry}/comm")) else { continue };
        if !names.contains(&name.as_str()) || found.contains_key(&name) {
            continue;
        }
        if source.is_foreign_user(&format!("/proc/{entry}")) {
            continue;
        }
        let line = source.text(&format!("/proc/{entry}/cmdline"), SMALL).unwrap_or_default();
        found.insert(name, line.split('\0').map(str::to_owned).collect());
    }
    found
}

/// Returns the value of an option, given as `--name=value` or `--name value`, with one or two
/// dashes.
pub(super) fn option<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    let mut arguments = arguments.iter().skip(1);
    while let Some(argument) = arguments.next() {
        let word = argument.trim_start_matches('-');
        if word.len() == argument.len() {
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if names.contains(&name) {
            return value.or_else(|| arguments.next().map(String::as_str));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn options_are_read_in_both_ways() {
        let arguments: Vec<String> = ["kubelet", "--config=/a", "-c", "/b", "plain"].map(str::to_owned).to_vec();
        assert_eq!(option(&arguments, &["config"]), Some("/a"));
        assert_eq!(option(&arguments, &["c"]), Some("/b"));
        assert_eq!(option(&arguments, &["plain"]), None);
    }

    #[test]
    fn processes_are_found_by_name() {
        let tree = Tree::new();
        tree.file("/proc/7/comm", "kubelet\n");
        tree.file("/proc/7/cmdline", "/usr/bin/kubelet\0--config=/k.yaml\0");
        tree.file("/proc/self/comm", "kubelet\n");
        let found = find(&Source::new(tree.root()), &["kubelet"]);
        // The tree belongs to the user that runs the tests.
        if rustix::process::geteuid().is_root() {
            assert_eq!(option(&found["kubelet"], &["config"]), Some("/k.yaml"));
        } else {
            assert!(found.is_empty());
        }
    }
}

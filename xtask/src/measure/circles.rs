//! Files of a crate that name each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{SourceFile, paths};

/// The circles: each by the names of its files.
pub(super) fn find(files: &[&SourceFile]) -> Vec<Vec<String>> {
    let mut of_crate: BTreeMap<&str, BTreeMap<&[String], &SourceFile>> = BTreeMap::new();
    for file in files {
        of_crate.entry(&file.krate).or_default().insert(&file.module, file);
    }
    of_crate.values().flat_map(in_crate).collect()
}

fn in_crate(files: &BTreeMap<&[String], &SourceFile>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&[String], BTreeSet<&[String]>> =
        files.keys().map(|start| (*start, reach(files, start))).collect();
    let reaches = |from: &[String], to: &[String]| reached.get(from).is_some_and(|set| set.contains(to));
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for start in files.keys().filter(|start| reaches(start, start)) {
        let members = files.iter().filter(|(other, _)| reaches(start, other) && reaches(other, start));
        circles.insert(members.map(|(_, file)| file.name()).collect());
    }
    circles.into_iter().collect()
}

/// Every file that can be reached from `start`.
fn reach<'a>(files: &BTreeMap<&'a [String], &'a SourceFile>, start: &'a [String]) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in neighbours(files, module) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The files that one names. A parent that only hands on the names of its modules is not meant by who uses them.
fn neighbours<'a>(files: &BTreeMap<&'a [String], &'a SourceFile>, module: &'a [String]) -> BTreeSet<&'a [String]> {
    let Some(file) = files.get(module) else { return BTreeSet::new() };
    let mut found = BTreeSet::new();
    for path in &file.uses {
        if let Some(target) = defining(files, path, 0).filter(|target| *target != module) {
            // A module that hands on what stands below it does not use it.
            if !(target.starts_with(module) && hands_on(file, path)) {
                found.insert(target);
            }
        }
    }
    found
}

/// The file that defines what `path` names.
fn defining<'a>(files: &BTreeMap<&'a [String], &'a SourceFile>, path: &[String], depth: usize) -> Option<&'a [String]> {
    let (module, file) = (0..=path.len()).rev().find_map(|length| files.get_key_value(path.get(..length)?))?;
    let name = path.get(module.len());
    let handed = name.and_then(|name| handed_on(file, name)).filter(|_| depth < 8);
    match handed {
        Some(further) => defining(files, &further, depth + 1),
        None => Some(module),
    }
}

/// Where a file takes `name` from, if it only hands it on.
fn handed_on(file: &SourceFile, name: &str) -> Option<Vec<String>> {
    exports(file).into_iter().find(|path| path.last().is_some_and(|last| last == name))
}

fn hands_on(file: &SourceFile, path: &[String]) -> bool {
    exports(file).iter().any(|exported| exported == path)
}

/// What the file's `pub use` statements name, from the root of the crate on.
fn exports(file: &SourceFile) -> Vec<Vec<String>> {
    let text = file.text.join(" ");
    let statements = text.split("pub").filter_map(|part| {
        let part = part.strip_prefix('(').map_or(Some(part), |part| part.split_once(')').map(|(_, rest)| rest))?;
        part.trim_start().strip_prefix("use ")?.split_once(';').map(|(names, _)| names.to_owned())
    });
    statements.flat_map(|names| paths(&file.module, &names)).collect()
}

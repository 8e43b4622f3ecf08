//! Finds circular dependencies between the files of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{SourceFile, paths};

/// The files of a crate, by module path.
type Files<'a> = BTreeMap<&'a [String], &'a SourceFile>;

/// Files that depend on each other, and the names that connect them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Circle {
    pub(super) files: Vec<String>,
    pub(super) ties: Vec<String>,
}

/// Returns the circular dependencies within each crate.
pub(super) fn find(files: &[&SourceFile]) -> Vec<Circle> {
    let mut of_crate: BTreeMap<&str, Files<'_>> = BTreeMap::new();
    for file in files {
        of_crate.entry(&file.krate).or_default().insert(&file.module, file);
    }
    of_crate.values().flat_map(in_crate).collect()
}

fn in_crate(files: &Files<'_>) -> Vec<Circle> {
    let reached: BTreeMap<&[String], BTreeSet<&[String]>> =
        files.keys().map(|start| (*start, reach(files, start))).collect();
    let reaches = |from: &[String], to: &[String]| reached.get(from).is_some_and(|set| set.contains(to));
    let mut circles = BTreeSet::new();
    for start in files.keys().filter(|start| reaches(start, start)) {
        let members: Vec<_> = files.keys().filter(|other| reaches(start, other) && reaches(other, start)).collect();
        let ties = members.iter().flat_map(|from| {
            let to = neighbours(files, from).into_iter().filter(|(to, _)| members.contains(&to));
            to.map(|(to, names)| format!("{} -> {}: {}", from.join("::"), to.join("::"), names.join(", ")))
        });
        let name = |member: &&&[String]| files.get(**member).map(|file| file.name());
        circles.insert(Circle { files: members.iter().filter_map(name).collect(), ties: ties.collect() });
    }
    circles.into_iter().collect()
}

/// Returns every file that is reachable from `start`.
fn reach<'a>(files: &Files<'a>, start: &'a [String]) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for (next, _) in neighbours(files, module) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Returns the files that a module uses, with the names. Re-exports of submodules do not count as
/// uses.
fn neighbours<'a>(files: &Files<'a>, module: &[String]) -> BTreeMap<&'a [String], Vec<&'a str>> {
    let mut found: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    let Some(file) = files.get(module) else { return found };
    let handed = exports(file);
    for path in &file.uses {
        if let Some(target) = defining(files, path, 0).filter(|target| *target != module)
            && !(target.starts_with(module) && handed.contains(path))
        {
            found.entry(target).or_default().extend(path.last().map(String::as_str));
        }
    }
    found
}

/// Returns the file that defines `path`.
fn defining<'a>(files: &Files<'a>, path: &[String], depth: usize) -> Option<&'a [String]> {
    let (module, file) = (0..=path.len()).rev().find_map(|length| files.get_key_value(path.get(..length)?))?;
    let name = path.get(module.len());
    let handed = name.and_then(|name| handed_on(file, name)).filter(|_| depth < 8);
    match handed {
        Some(further) => defining(files, &further, depth + 1),
        None => Some(module),
    }
}

/// Returns the original path of `name`, if the file only re-exports it.
fn handed_on(file: &SourceFile, name: &str) -> Option<Vec<String>> {
    exports(file).into_iter().find(|path| path.last().is_some_and(|last| last == name))
}

/// Returns the paths in the file's `pub use` statements, relative to the root of the crate.
fn exports(file: &SourceFile) -> Vec<Vec<String>> {
    let text = file.text.join(" ");
    let statements = text.split("pub").filter_map(|part| {
        let part = part.strip_prefix('(').map_or(Some(part), |part| part.split_once(')').map(|(_, rest)| rest))?;
        part.trim_start().strip_prefix("use ")?.split_once(';').map(|(names, _)| names.to_owned())
    });
    statements.flat_map(|names| paths(&file.module, &names)).collect()
}

//! The version and the controllers of control groups.

use serde_json::json;

use crate::gathering::Collector;
use crate::source::{SMALL, Source, TABLE, Unreadable};

/// A file that exists only in the unified hierarchy (version 2).
const UNIFIED: &str = "/sys/fs/cgroup/cgroup.controllers";
const LEGACY: &str = "/proc/cgroups";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    if let Some((version, controllers)) = gathering.keep("plumbline_facts.cgroup", hierarchy(gathering.source)) {
        gathering.own("cgroup", json!({"version": version, "controllers": controllers}));
    }
}

fn hierarchy(source: &Source) -> Result<(u32, Vec<String>), Unreadable> {
    match source.text(UNIFIED, SMALL) {
        Ok(text) => Ok((2, sorted(text.split_ascii_whitespace()))),
        Err(reason) if reason.is_missing() && version_1_is_mounted(source) => {
            let table = source.text(LEGACY, SMALL)?;
            Ok((1, sorted(table.lines().filter_map(enabled))))
        }
        Err(reason) => Err(reason),
    }
}

/// Returns true if a version 1 hierarchy is mounted.
///
/// The table of controllers exists on every kernel with control groups, so only the mounts decide.
fn version_1_is_mounted(source: &Source) -> bool {
    source
        .head(&source.process_file("mounts"), TABLE)
        .is_ok_and(|head| head.text.lines().any(|line| line.split_ascii_whitespace().nth(2) == Some("cgroup")))
}

/// Parses a line of `/proc/cgroups`: controller, hierarchy, number of groups, enabled.
fn enabled(line: &str) -> Option<&str> {
    let mut fields = line.split_ascii_whitespace();
    let name = fields.next().filter(|name| !name.starts_with('#'))?;
    (fields.nth(2) == Some("1")).then_some(name)
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn version_2_is_told_by_its_controllers() {
        let tree = Tree::new();
        tree.file(UNIFIED, "cpuset cpu io memory pids\n");
        let (version, controllers) = hierarchy(&Source::new(tree.root())).unwrap();
        assert_eq!((version, controllers.join(" ").as_str()), (2, "cpu cpuset io memory pids"));
    }

    #[test]
    fn version_1_has_those_that_are_enabled() {
        let tree = Tree::new();
        tree.file("/proc/mounts", "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n");
        tree.file(
            LEGACY,
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t10\t1\nmemory\t0\t10\t0\npids\t3\t9\t1\n",
        );
        assert_eq!(hierarchy(&Source::new(tree.root())).unwrap(), (1, vec!["cpu".to_owned(), "pids".to_owned()]));
    }

    #[test]
    fn none_mounted_is_an_error_that_says_so() {
        let tree = Tree::new();
        tree.file(LEGACY, "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t1\n");
        let reason = hierarchy(&Source::new(tree.root())).unwrap_err().to_string();
        assert!(reason.starts_with("failed to read /sys/fs/cgroup/cgroup.controllers: "), "{reason}");
    }
}

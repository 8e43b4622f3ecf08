//! The memory limit of this process, in a container or another control group.

use std::fs;
use std::path::{Path, PathBuf};

/// From here on, version 1 of control groups means that there is no limit.
const NONE: u64 = 1 << 60;

/// The limit in bytes. `None` if there is no limit, or if reading it failed.
pub(crate) fn memory_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_below(Path::new("/sys/fs/cgroup"), &groups)
}

/// The smallest limit of the groups in `groups`, the text of `/proc/self/cgroup`, and of their
/// ancestors.
fn limit_below(root: &Path, groups: &str) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = if controllers.is_empty() {
            (root.to_owned(), "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        // In a container, the path may be that of the host and not exist. The root is then the
        // group of the container.
        let group = root.join(path.trim_start_matches('/'));
        limits.extend(
            group.ancestors().take_while(|group| group.starts_with(&root)).filter_map(|group| read(group.join(file))),
        );
    }
    limits.into_iter().min()
}

fn read(file: PathBuf) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok().filter(|limit| *limit < NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_the_groups_around_a_process_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let limit = |groups: &str| limit_below(root.path(), groups);
        assert_eq!(limit("0::/a/b\n"), None);
        write("a/b/memory.max", "max\n");
        assert_eq!(limit("0::/a/b\n"), None);
        write("a/memory.max", "1000\n");
        assert_eq!(limit("0::/a/b\n"), Some(1000));
        write("memory.max", "2000\n");
        assert_eq!(limit("0::/a/b\n"), Some(1000));
        assert_eq!(limit("0::/not/seen/from/here\n"), Some(2000));
        write("memory/x/memory.limit_in_bytes", "500\n");
        assert_eq!(limit("5:cpu,memory:/x\n1:name=systemd:/x\n"), Some(500));
        write("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit("5:memory:/x\n"), None);
    }
}

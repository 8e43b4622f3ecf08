use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use super::*;
use crate::call::io::NoLog;
use crate::call::limits::Meter;

#[test]
fn a_part_of_a_granted_path_that_becomes_a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (node, outside) = (dir.path().join("node"), dir.path().join("outside"));
    fs::create_dir_all(node.join("etc/kubernetes")).unwrap();
    fs::create_dir_all(outside.join("kubernetes")).unwrap();
    let directories = [Directory::of_node(&node, "/etc/kubernetes").unwrap()];
    let denied = || {
        let mut log: Vec<(LogLevel, String)> = Vec::new();
        let (_, directories) = granted(&directories, &[], None, None, &mut log).unwrap();
        let denied: Vec<String> = directories.denied().iter().map(|(path, _)| path.clone()).collect();
        (denied, log.into_iter().map(|(_, line)| line).collect::<String>())
    };
    assert_eq!(denied(), (Vec::new(), String::new()));
    fs::rename(node.join("etc"), node.join("before")).unwrap();
    symlink(&outside, node.join("etc")).unwrap();
    let (paths, line) = denied();
    assert_eq!(paths, ["/etc/kubernetes"]);
    let reason = "failed to open the granted directory `/etc/kubernetes`: a part of its path is a symbolic link";
    assert!(line.starts_with(reason), "{line}");
}

#[test]
fn an_opened_directory_decides_about_links_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let node = dir.path();
    fs::create_dir_all(node.join("etc/new")).unwrap();
    symlink("new", node.join("etc/old")).unwrap();
    let directory = |path| Directory::of_node(node, path).unwrap();
    let directories = [directory("/etc/old"), directory("/etc")];
    let (_, opened) = granted(&directories, &[], None, None, &mut NoLog).unwrap();
    assert!(opened.denied().is_empty());
    let alone = granted(&directories[..1], &[], None, None, &mut NoLog).unwrap().1;
    assert_eq!(alone.denied().len(), 1);
    // The owner of a file is as unknown as its content.
    let (clock, meter) = (Clock::start(60, Arc::default()), Meter::new(1 << 20));
    let refused = alone.attributes("/etc/old/file", &clock, &meter).unwrap().unwrap_err();
    assert_eq!(refused, "failed to read the owner of `/etc/old/file`: not permitted");
}

#[test]
fn the_remaining_time_is_clamped_to_the_clock() {
    assert_eq!(nanoseconds(Some(Duration::from_secs(1))), 1_000_000_000);
    assert_eq!(nanoseconds(Some(Duration::MAX)), u64::MAX);
    assert_eq!(nanoseconds(None), u64::MAX);
}

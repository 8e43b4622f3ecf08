use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::call::io::NoLog;

#[test]
fn a_part_of_a_granted_path_that_becomes_a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (node, outside) = (dir.path().join("node"), dir.path().join("outside"));
    fs::create_dir_all(node.join("etc/kubernetes")).unwrap();
    fs::create_dir_all(outside.join("kubernetes")).unwrap();
    let directories = [Directory::of_node(&node, "/etc/kubernetes").unwrap()];
    let granted = || granted(&directories, &[], None, None, &mut NoLog).map(drop);
    granted().unwrap();
    fs::rename(node.join("etc"), node.join("before")).unwrap();
    symlink(&outside, node.join("etc")).unwrap();
    let error = granted().unwrap_err().to_string();
    assert!(error.starts_with("failed to open `/etc/kubernetes`: a part of its path is a symbolic link"), "{error}");
}

#[test]
fn the_remaining_time_is_clamped_to_the_clock() {
    assert_eq!(nanoseconds(Some(Duration::from_secs(1))), 1_000_000_000);
    assert_eq!(nanoseconds(Some(Duration::MAX)), u64::MAX);
    assert_eq!(nanoseconds(None), u64::MAX);
}

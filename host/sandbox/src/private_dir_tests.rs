use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

#[test]
fn it_is_made_for_its_owner_alone() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("a/b");
    let dir = PrivateDir::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    dir.write("x", b"1").unwrap();
    dir.write("x", b"22").unwrap();
    assert_eq!(fs::metadata(path.join("x")).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(dir.read("x", 2).unwrap().unwrap(), b"22");
    assert!(dir.read("x", 1).unwrap_err().to_string().contains("(limit: 1)"));
    assert_eq!(dir.read("y", 1).unwrap(), None);
    assert_eq!(dir.list().unwrap().len(), 1);
    dir.remove("x").unwrap();
    dir.remove("x").unwrap();
    assert!(dir.list().unwrap().is_empty());
}

#[test]
fn files_that_other_users_can_write_to_are_not_used() {
    let base = tempfile::tempdir().unwrap();
    fs::set_permissions(base.path(), Permissions::from_mode(0o777)).unwrap();
    assert_eq!(PrivateDir::open(base.path()).unwrap_err().to_string(), "other users can write to it (mode 777)");
    fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = PrivateDir::open(base.path()).unwrap();
    dir.write("x", b"1").unwrap();
    fs::set_permissions(base.path().join("x"), Permissions::from_mode(0o620)).unwrap();
    assert!(dir.read("x", 9).unwrap_err().to_string().contains("other users can write to it"));
}

#[test]
fn links_and_pipes_are_not_followed() {
    let base = tempfile::tempdir().unwrap();
    let dir = PrivateDir::open(&base.path().join("real")).unwrap();
    symlink("real", base.path().join("link")).unwrap();
    assert!(PrivateDir::open(&base.path().join("link")).is_err());
    dir.write("x", b"1").unwrap();
    symlink("x", base.path().join("real/y")).unwrap();
    assert!(dir.read("y", 9).is_err());
    rustix::fs::mkfifoat(&dir.0, "pipe", Mode::RUSR | Mode::WUSR).unwrap();
    assert_eq!(dir.read("pipe", 9).unwrap_err().to_string(), "it is not a regular file");
    assert_eq!(dir.list().unwrap().len(), 1);
}

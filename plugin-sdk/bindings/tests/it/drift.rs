//! What is generated is what is committed.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_bindings::{Files, check, generate, write};

use crate::root;

#[test]
fn generated_files_are_as_they_are_generated() {
    let different = check(&root(), &generate(&root()).unwrap()).unwrap();
    assert!(different.is_empty(), "run `cargo xtask bindings`: {different:?}");
}

#[test]
fn what_differs_is_named_and_written_and_nothing_else_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::from(
        ["same", "other", "new/deep", "dos"].map(|name| (PathBuf::from(name), format!("{name}\nend\n").into_bytes())),
    );
    for (name, content) in [("same", "same\nend\n"), ("other", "changed by hand"), ("dos", "dos\r\nend\r\n")] {
        fs::write(dir.path().join(name), content).unwrap();
    }
    let expected = ["new/deep", "other"].map(PathBuf::from);
    assert_eq!(check(dir.path(), &files).unwrap(), expected);
    assert_eq!(write(dir.path(), &files).unwrap(), expected);
    assert!(check(dir.path(), &files).unwrap().is_empty());
    assert_eq!(fs::read_to_string(dir.path().join("new/deep")).unwrap(), "new/deep\nend\n");
    assert_eq!(fs::read_to_string(dir.path().join("dos")).unwrap(), "dos\r\nend\r\n");
}

#[test]
fn a_directory_without_wit_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("wit")).unwrap();
    let error = generate(dir.path()).unwrap_err().to_string();
    assert!(error.starts_with("find WIT in `") && error.ends_with("`: no file there ends in `.wit`"), "{error}");
    fs::write(dir.path().join("wit/a.wit"), "package a:b;\ninterface i { f: func( }").unwrap();
    let error = generate(dir.path()).unwrap_err().to_string();
    assert!(error.contains("a.wit:2"), "{error}");
    assert!(generate(Path::new("/nowhere/at/all")).unwrap_err().to_string().starts_with("read `/nowhere/at/all/wit`"));
}

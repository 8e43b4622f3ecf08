//! Local facts: files, and programs that print them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plumbline_facts::{Document, Options, gather};
use serde_json::json;

fn script(place: &Path, name: &str, mode: u32, text: &str) {
    let path = place.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

fn gathered(place: &Path, run_collectors: bool) -> Document {
    let facts_dir = place.to_str().unwrap().to_owned();
    gather(&Options { facts_dir, run_collectors, ..Options::new("/") })
}

fn reason<'a>(document: &'a Document, name: &str) -> &'a str {
    let key = format!("ansible_local.{name}");
    let error = document.errors.iter().find(|error| error.fact == key);
    &error.unwrap_or_else(|| panic!("no error for {key}: {:?}", document.errors)).reason
}

#[test]
fn programs_run_only_with_leave_and_what_fails_is_named() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("plain.fact"), "{\"a\": [1]}").unwrap();
    script(place.path(), "good.fact", 0o755, "echo '{\"disks\": 4}'");
    script(place.path(), "ini.fact", 0o755, "printf '[a]\\nb = c\\n'");
    script(place.path(), "bad.fact", 0o755, "echo broken >&2; exit 3");
    script(place.path(), "rubbish.fact", 0o755, "echo nothing");
    script(place.path(), "long.fact", 0o755, "head -c 2000000 /dev/zero");
    script(place.path(), "others.fact", 0o777, "echo '{}'");
    script(place.path(), "secret.fact", 0o755, "echo \"{\\\"home\\\": \\\"$HOME\\\", \\\"user\\\": \\\"$USER\\\"}\"");

    let document = gathered(place.path(), false);
    assert_eq!(document.fact("local").unwrap(), &json!({"plain": {"a": [1]}}));
    assert!(reason(&document, "good").ends_with("was not run: `--run-collectors` was not given"));

    let document = gathered(place.path(), true);
    assert_eq!(
        document.fact("local").unwrap(),
        &json!({
            "plain": {"a": [1]}, "good": {"disks": 4}, "ini": {"a": {"b": "c"}},
            "secret": {"home": "/", "user": ""},
        })
    );
    assert!(reason(&document, "bad").ends_with("exited with exit status: 3: broken"), "{}", reason(&document, "bad"));
    assert!(reason(&document, "rubbish").contains("is neither JSON nor INI: line 1"));
    assert!(reason(&document, "long").ends_with("printed more than 1048576 bytes"));
    assert!(reason(&document, "others").contains("users other than root and the current user can change it"));
}

#[test]
fn only_so_many_files_are_looked_at() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..70 {
        fs::write(place.path().join(format!("n{number:02}.fact")), "1").unwrap();
    }
    let document = gathered(place.path(), false);
    assert_eq!(document.fact("local").unwrap().as_object().unwrap().len(), 64);
    let error = document.errors.iter().find(|error| error.fact == "ansible_local").unwrap();
    assert!(error.reason.contains("has 70 files: only the first 64 are read"), "{error:?}");
}

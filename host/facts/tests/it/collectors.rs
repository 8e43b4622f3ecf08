//! Local facts: files, and programs that print them.

use std::fs;
use std::path::Path;
use std::process::Command;

use plumbline_facts::{Document, Options, gather};
use serde_json::json;

/// Writes a script. If this process created it, a process of another test could inherit the open
/// file, and executing the script would fail with "Text file busy".
fn script(place: &Path, name: &str, mode: &str, text: &str) {
    let draft = tempfile::NamedTempFile::new().unwrap();
    fs::write(&draft, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mut install = Command::new("install");
    assert!(install.args(["-m", mode]).arg(draft.path()).arg(place.join(name)).status().unwrap().success());
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
    script(place.path(), "good.fact", "755", "echo '{\"disks\": 4}'");
    script(place.path(), "ini.fact", "755", "printf '[a]\\nb = c\\n'");
    script(place.path(), "bad.fact", "755", "echo broken >&2; exit 3");
    script(place.path(), "rubbish.fact", "755", "echo nothing");
    script(place.path(), "long.fact", "755", "head -c 2000000 /dev/zero");
    script(place.path(), "others.fact", "777", "echo '{}'");
    script(place.path(), "secret.fact", "755", "echo \"{\\\"home\\\": \\\"$HOME\\\", \\\"user\\\": \\\"$USER\\\"}\"");

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

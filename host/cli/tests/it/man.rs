//! The man pages, rendered by `man`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::bed::{Bed, Done};

/// Returns the text of a page, or `None` without `man`. Every warning is a failure.
fn rendered(page: &Path) -> Option<String> {
    let mut man = Command::new("man");
    man.env("LC_ALL", "C.UTF-8").env("MANWIDTH", "100").env_remove("MANOPT");
    let output = match man.args(["--warnings", "--local-file"]).arg(page).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
    // Bold and underlined characters are written twice, with a backspace between.
    let mut text = String::new();
    for character in String::from_utf8(output.stdout).unwrap().chars() {
        if character == '\u{8}' {
            text.pop();
        } else {
            text.push(character);
        }
    }
    Some(text)
}

#[test]
fn every_visible_command_has_a_page_that_renders_without_warnings() {
    let bed = Bed::new();
    Done::of(bed.command(&["man", "pages"])).expect(0);
    let mut names: Vec<String> = fs::read_dir(bed.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in ["plumbline.1", "plumbline-run.1", "plumbline-plugin-new.1", "plumbline-conformance-run.1"] {
        assert!(names.iter().any(|own| own == name), "{names:?}");
    }
    for hidden in ["plumbline-worker", "plumbline-man", "plumbline-help", "plumbline-test-plugin"] {
        assert!(!names.iter().any(|own| own.starts_with(hidden)), "{names:?}");
    }
    let root = fs::read_to_string(bed.path("pages/plumbline.1")).unwrap();
    assert!(!root.contains('\u{1b}'), "a page has no colours");
    for name in &names {
        let Some(text) = rendered(&bed.path("pages").join(name)) else {
            println!("SKIPPED: `man` not found");
            return;
        };
        assert!(text.contains("NAME") && text.contains("SYNOPSIS"), "{name}: {text}");
    }
    let run = rendered(&bed.path("pages/plumbline-run.1")).unwrap();
    let examples: Vec<&str> = run.lines().skip_while(|line| *line != "EXAMPLES").take(3).map(str::trim).collect();
    assert_eq!(examples[1], "plumbline run --local -p host-facts -p ./smoke.yaml", "{run}");
    assert!(examples[2].starts_with("plumbline run "), "each example has its own line: {examples:?}");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let bed = Bed::new();
    bed.write("pages", "a file");
    let done = Done::of(bed.command(&["man", "pages"])).expect(4);
    assert!(done.err.contains("failed to write the man pages to `pages`"), "{}", done.err);
}

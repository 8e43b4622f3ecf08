//! Tests that the committed files are up to date.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_bindings::{Files, check, excerpts, generate, write};

use crate::root;

#[test]
fn generated_files_are_as_they_are_generated() {
    let different = check(&root(), &generate(&root()).unwrap()).unwrap();
    assert!(different.is_empty(), "run `cargo xtask bindings`: {different:?}");
}

#[test]
fn only_files_that_differ_are_listed_and_written() {
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

#[test]
fn excerpts_of_the_guide_follow_the_templates() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::create_dir_all(root.join("docs")).unwrap();
    fs::write(root.join("template"), "before\nfn f() {\n    __TYPE__\n}\n\nafter\nlast\n\nend\n").unwrap();
    let guide = |text: &str| {
        fs::write(root.join("docs/authors-guide.md"), text).unwrap();
        generated(root)
    };
    let updated = guide("a\n<!-- excerpt template: fn f … } -->\n```rust\nold\n```\nb\n").unwrap();
    assert_eq!(updated, "a\n<!-- excerpt template: fn f … } -->\n```rust\nfn f() {\n    MyFormat\n}\n```\nb\n");
    let updated = guide("<!-- excerpt template: after … (blank) -->\n```\n```\n").unwrap();
    assert_eq!(updated, "<!-- excerpt template: after … (blank) -->\n```\nafter\nlast\n```\n");
    for (text, cause) in [
        ("<!-- excerpt template: fn g … } -->\n```\n```\n", "the file has no such lines"),
        ("<!-- excerpt template: after … } -->\n```\n```\n", "the file has no such lines"),
        ("<!-- excerpt template -->\n```\n```\n", "write `FILE: START … END`"),
        ("<!-- excerpt template: fn f … } -->\ntext\n", "no fence follows it"),
        ("<!-- excerpt template: fn f … } -->\n```\nx\n", "its fence does not end"),
        ("<!-- excerpt gone: fn f … } -->\n```\n```\n", "gone"),
    ] {
        let error = guide(text).unwrap_err();
        assert!(error.contains(cause), "{text}: {error}");
    }
}

/// Returns the guide with up-to-date excerpts.
fn generated(root: &Path) -> Result<String, String> {
    let files = excerpts(root).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(files.get(Path::new("docs/authors-guide.md")).unwrap().clone()).unwrap())
}

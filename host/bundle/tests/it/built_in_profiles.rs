//! Built-in profiles as the build finds them, with and without bundles.

use std::fs;
use std::path::Path;

use crate::declared::{declaration, named_declaration};

/// Writes a bundle with a profile and these other files.
fn bundle(root: &Path, name: &str, files: &[&str]) {
    let dir = root.join(name);
    let definition = format!("sonobuoy-config:\n  driver: Job\n  plugin-name: {name}-plugin\nspec: {{image: i}}\n");
    for (file, text) in [("plugin.yaml", definition.as_str()), ("profile.yaml", "")]
        .into_iter()
        .chain(files.iter().map(|file| (*file, "text")))
    {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_build_without_bundles_declares_an_empty_list() {
    let dir = tempfile::tempdir().unwrap();
    let empty = "static PROFILES: &[BuiltInProfile] = &[\n];\n";
    assert_eq!(declaration(dir.path()).unwrap(), empty);
    assert_eq!(declaration(&dir.path().join("missing")).unwrap(), empty);
}

#[test]
fn a_named_directory_without_bundles_stops_the_build() {
    let dir = tempfile::tempdir().unwrap();
    for root in [dir.path().to_owned(), dir.path().join("misspelt"), "".into()] {
        let error = named_declaration(&root).unwrap_err().to_string();
        assert!(error.contains(&format!("PLUMBLINE_PROFILES: `{}` contains no bundle", root.display())), "{error}");
    }
    bundle(dir.path(), "toys", &[]);
    assert_eq!(named_declaration(dir.path()).unwrap(), declaration(dir.path()).unwrap());
}

#[test]
fn a_build_declares_each_bundle_with_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let files = ["README.md", "lists/tests-2.gz", "lists/README.md", "lists/tests-1.gz", "data/plugin.yaml"];
    bundle(dir.path(), "toys", &files);
    bundle(dir.path(), "games", &[]);
    fs::write(dir.path().join("README.md"), "about bundles").unwrap();
    let declared = declaration(dir.path()).unwrap().replace(&root, "ROOT");
    insta::assert_snapshot!(declared, @r#"
    static PROFILES: &[BuiltInProfile] = &[
        BuiltInProfile { plugin: BuiltInDefinition { name: "games-plugin", local: None, cluster: Some(include_str!("ROOT/games/plugin.yaml")) }, profile: include_bytes!("ROOT/games/profile.yaml"), files: &[
        ] },
        BuiltInProfile { plugin: BuiltInDefinition { name: "toys-plugin", local: None, cluster: Some(include_str!("ROOT/toys/plugin.yaml")) }, profile: include_bytes!("ROOT/toys/profile.yaml"), files: &[
            ("data/plugin.yaml", include_bytes!("ROOT/toys/data/plugin.yaml")),
            ("lists/README.md", include_bytes!("ROOT/toys/lists/README.md")),
            ("lists/tests-1.gz", include_bytes!("ROOT/toys/lists/tests-1.gz")),
            ("lists/tests-2.gz", include_bytes!("ROOT/toys/lists/tests-2.gz")),
        ] },
    ];
    "#);
}

#[test]
fn a_bundle_without_the_name_of_its_plugin_stops_the_build() {
    let dir = tempfile::tempdir().unwrap();
    bundle(dir.path(), "toys", &[]);
    fs::write(dir.path().join("toys/plugin.yaml"), "spec: {image: i}\n").unwrap();
    let error = declaration(dir.path()).unwrap_err().to_string();
    assert!(error.ends_with("toys/plugin.yaml has no `plugin-name`"), "{error}");
}

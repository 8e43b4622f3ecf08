//! Tests of new projects.

use std::fs;
use std::path::Path;

use plumbline_author::{Language, Project, new_project, template_languages};

/// Returns all files below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn every_template_becomes_a_project_that_names_itself() {
    assert!(template_languages().any(|language| language == Language::Rust));
    let worlds = [None, Some("judge-module"), Some("check-module")];
    for (language, world) in template_languages().flat_map(|language| worlds.map(|world| (language, world))) {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("my-format");
        let new = new_project("my-format", language, world, &place).unwrap();
        let project = Project::open(&place).unwrap();
        assert_eq!((project.name(), project.manifest.language), ("my-format", language));
        assert_eq!(project.world(), world.unwrap_or("post-processor-module"), "{language}");
        for file in &new.files {
            let text = fs::read_to_string(place.join(file)).unwrap();
            for placeholder in ["__NAME__", "__IDENT__", "__TYPE__"] {
                assert!(!text.contains(placeholder) && !file.contains(placeholder), "{language}: {file}");
            }
            assert!(!file.ends_with(".in"), "{language}: {file}");
        }
        for part in ["plugin.yaml", "README.md", ".gitignore", "wit/types.wit"] {
            assert!(place.join(part).is_file(), "{language}, {world:?} has no {part}");
        }
        assert!(place.join("tests/example/expected.yaml").is_file(), "{language}, {world:?} has no golden case");
        assert!(project.sdk().is_dir(), "{language} has no SDK in {}", project.sdk().display());
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 1, "nothing is left next to the project");
    }
}

#[test]
fn a_check_declares_and_grants_its_rights() {
    let dir = tempfile::tempdir().unwrap();
    for language in Language::ALL {
        let place = dir.path().join(language.as_str());
        new_project("my-check", language, Some("check"), &place).unwrap();
        let project = Project::open(&place).unwrap();
        assert_eq!(project.world(), "check-module");
        let text = |file: &str| fs::read_to_string(place.join(file)).unwrap();
        let granted = "  component: my-check.wasm\n  grants:\n    files: [/proc/sys]\n";
        assert!(text("plugin.yaml").contains(granted), "{language}");
        if language == Language::Rust {
            assert!(text("src/lib.rs").contains(r#"rights: { "files": ["/proc/sys"] }"#));
        } else {
            let rights = project.manifest.rights.clone().unwrap_or_default();
            assert_eq!(rights.files, ["/proc/sys"], "{language}");
            assert!(project.schema().unwrap().is_some(), "{language}");
        }
    }
}

#[test]
fn nothing_is_ever_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let new = |place: &Path| new_project("x", Language::Rust, None, place);
    for (name, is_dir) in [("file", false), ("dir", true)] {
        let place = dir.path().join(name);
        if is_dir {
            fs::create_dir(&place).unwrap();
            fs::write(place.join("mine"), "kept").unwrap();
        } else {
            fs::write(&place, "kept").unwrap();
        }
        let before = files(dir.path());
        let error = new(&place).unwrap_err();
        assert!(error.what.ends_with("already exists"), "{error}");
        assert_eq!(files(dir.path()), before);
    }
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    new(&empty).unwrap();
    assert!(empty.join("module.yaml").is_file());
}

#[test]
fn unknown_worlds_and_languages_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("x");
    let error = new_project("Bad Name", Language::Rust, None, &place).unwrap_err();
    assert!(error.what.contains("invalid project name `Bad Name`"), "{error}");
    let error = new_project("x", Language::Rust, Some("summariser-module"), &place).unwrap_err();
    assert!(error.hint.unwrap().contains("did you mean `summarizer-module`?"));
    let error = new_project("x", Language::Rust, Some("every-role-module"), &place).unwrap_err();
    assert!(error.what.contains("no template in rust for the world `every-role-module`"), "{error}");
    if let Some(missing) =
        Language::ALL.into_iter().find(|language| !template_languages().any(|there| there == *language))
    {
        let error = new_project("x", missing, None, &place).unwrap_err();
        assert!(error.what.contains("no template"), "{error}");
    }
    assert!(!place.exists());
}

#[test]
fn programs_of_a_template_may_be_executed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    new_project("x", Language::Rust, None, &dir.path().join("x")).unwrap();
    let mode = fs::metadata(dir.path().join("x/check.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

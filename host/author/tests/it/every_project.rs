//! Every template and every example, with the real toolchain of its language where it is there: new, build, check. What comes later is picked
//! up by itself.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_author::build::missing_tool;
use plumbline_author::check::Level;
use plumbline_author::embedded::template_languages;
use plumbline_author::{Language, Project, new_project};

use crate::support::{built, check, lines};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Builds and checks; says why not where the tools are not there.
fn works(directory: &Path, shown: &str) {
    let project = Project::open(directory).unwrap();
    if let Some(missing) = missing_tool(project.manifest.language, &project.directory) {
        eprintln!("SKIPPED: {shown}: {missing}");
        return;
    }
    let made = built(directory).unwrap_or_else(|error| panic!("{shown}: {error}\nhint: {:?}", error.hint));
    eprintln!("{shown}: {} bytes in {:.1} s, imports {:?}", made.size, made.seconds, made.imports);
    let checked = check(directory).unwrap();
    assert_eq!(checked.count(Level::Error), 0, "{shown}: {:#?}", lines(&checked));
    assert_eq!(checked.modules.len(), 1, "{shown}");
    // A project that was just built has nothing to be warned of but the absence of a definition.
    let other: Vec<String> = lines(&checked).into_iter().filter(|line| !line.contains("there is no definition")).collect();
    assert_eq!(other, [""; 0], "{shown}");
    crate::cases::pass(directory, shown);
}

#[test]
fn every_template_builds() {
    // One place for all runs of this test: what the tools keep beside the sources stays good.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("author-templates");
    for language in template_languages() {
        let project = place.join(language.as_str());
        let kept = place.join("build").join(language.as_str());
        let _ = fs::remove_dir_all(&project);
        fs::create_dir_all(&kept).unwrap();
        new_project("my-format", language, None, &project).unwrap();
        std::os::unix::fs::symlink(&kept, project.join("build")).unwrap();
        if language == Language::Rust {
            // The versions that are in the cache: nothing has to be fetched.
            fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
        }
        works(&project, &format!("template {language}"));
    }
}

#[test]
fn every_example_builds() {
    let examples = fs::read_dir(root().join("examples")).unwrap();
    let mut projects: Vec<PathBuf> = examples.map(|entry| entry.unwrap().path()).collect();
    projects.retain(|path| path.join("module.yaml").is_file());
    projects.sort();
    for project in projects {
        works(&project, &project.file_name().unwrap().to_string_lossy());
    }
}

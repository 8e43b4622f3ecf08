//! Every template and every example, with the real toolchain of its language where it is there: new, build, check. What comes later is picked
//! up by itself.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_author::build::missing_tool;
use plumbline_author::check::Level;
use plumbline_author::embedded::template_languages;
use plumbline_author::{Language, Project, new_project};

use crate::cases;
use crate::support::{built, check, lines};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Builds and checks; what is wrong, in words. Where the tools are not there it says so, and nothing is wrong.
fn wrong(directory: &Path, shown: &str, strict: bool) -> Option<String> {
    let project = match Project::open(directory) {
        Ok(project) => project,
        Err(error) => return Some(format!("{shown}: {error}")),
    };
    if let Some(missing) = missing_tool(project.manifest.language, &project.directory) {
        eprintln!("SKIPPED: {shown}: {missing}");
        return None;
    }
    let made = match built(directory) {
        Ok(made) => made,
        Err(error) => return Some(format!("{shown}: {error}; hint: {:?}", error.hint)),
    };
    eprintln!("{shown}: {} bytes in {:.1} s, imports {:?}", made.size, made.seconds, made.imports);
    let checked = check(directory).unwrap();
    let found = lines(&checked);
    let bad = if strict { !found.is_empty() } else { checked.count(Level::Error) > 0 };
    if bad || checked.modules.len() != 1 {
        return Some(format!("{shown}: {found:#?}, {} modules", checked.modules.len()));
    }
    cases::wrong(directory).map(|cases| format!("{shown}: {cases}"))
}

#[test]
fn every_template_builds_and_has_no_findings() {
    // One place for all runs of this test: what the tools keep beside the sources stays good.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("author-templates");
    let mut failures = Vec::new();
    for language in template_languages() {
        let project = place.join(language.as_str());
        let _ = fs::remove_dir_all(&project);
        new_project("my-format", language, None, &project).unwrap();
        for directory in ["build", "target"] {
            let kept = place.join("kept").join(language.as_str()).join(directory);
            fs::create_dir_all(&kept).unwrap();
            std::os::unix::fs::symlink(&kept, project.join(directory)).unwrap();
        }
        if language == Language::Rust {
            // The versions that are in the cache: nothing has to be fetched.
            fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
        }
        failures.extend(wrong(&project, &format!("template {language}"), true));
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_example_builds_without_errors() {
    let examples = fs::read_dir(root().join("examples")).unwrap();
    let mut projects: Vec<PathBuf> = examples.map(|entry| entry.unwrap().path()).collect();
    projects.retain(|path| path.join("module.yaml").is_file());
    projects.sort();
    let shown = |path: &Path| format!("example {}", path.file_name().unwrap().to_string_lossy());
    let failures: Vec<String> = projects.iter().filter_map(|path| wrong(path, &shown(path), false)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

//! Checks that the host treats no suite specially: its source names no built-in profile, and no mode
//! of one. The build finds the profiles in `plugins/profiles`, so the host compiles without them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::paths::Workspace;
use crate::steps::Outcome;

/// The crates that run suites.
const CRATES: [&str; 4] = ["app", "bundle", "cli", "conformance"];

/// Checks the source of these crates, without tests.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Error> {
    let root = workspace.root();
    let names = names(&root.join("plugins/profiles"))?;
    let mut found = Vec::new();
    for krate in CRATES {
        for file in sources(&root.join("host").join(krate).join("src"))? {
            let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            found.extend(named(&text, &names).into_iter().map(|(line, name)| format!("{shown}:{line}: {name}")));
        }
    }
    match found.is_empty() {
        true => Ok(Outcome::Passed),
        false => Err(Error::unexpected(format!("the host names built-in profiles or modes:\n{}", found.join("\n")))),
    }
}

/// Returns the names of the profiles in `dir`, and of their modes.
fn names(dir: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for profile in entries(dir)? {
        let file = profile.join("profile.yaml");
        let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        names.extend(profile.file_name().map(|name| name.to_string_lossy().into_owned()));
        names.extend(modes(&text));
    }
    Ok(names)
}

/// Returns the names in the list `modes` of a profile.
fn modes(profile: &str) -> Vec<String> {
    let list = profile.lines().skip_while(|line| *line != "modes:").skip(1);
    let list = list.take_while(|line| line.starts_with(['-', ' ', '#']) || line.is_empty());
    let names = list.filter_map(|line| line.strip_prefix("- name: ").or_else(|| line.strip_prefix("- {name: ")));
    names.filter_map(|rest| rest.split([',', ' ']).next()).map(str::to_owned).collect()
}

/// Returns the entries of a directory, in order. A directory that does not exist has none.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let read = fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(Error::io("read", dir))?;
    let mut paths: Vec<PathBuf> = read.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// Returns the source files below `dir` that have more than tests.
fn sources(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in entries(dir)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            files.extend(sources(&path)?);
        } else if name.ends_with(".rs") && !name.ends_with("_tests.rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the names in `text`, with their lines: in quotes, in backticks, or as a path. The key of a
/// document may have the same name.
fn named<'a>(text: &str, names: &'a [String]) -> Vec<(usize, &'a str)> {
    let source = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let mut found = Vec::new();
    for (at, line) in source {
        for name in names {
            let quoted = format!("\"{name}\"");
            let value = line
                .match_indices(&quoted)
                .any(|(start, _)| !line.get(start + quoted.len()..).unwrap_or_default().trim_start().starts_with(':'));
            if value || line.contains(&format!("`{name}`")) || line.contains(&format!("plugins/profiles/{name}")) {
                found.push((at + 1, name.as_str()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_profiles_and_modes_are_found_in_source_and_not_in_tests() {
        let names = ["toys".to_owned(), "fast-toys".to_owned()];
        let text = "const A: &str = \"toys\";\njson!({\"toys\": 1});\n/// Only for `toys`\nlet toys = 1;\n\
                    include_bytes!(\"../plugins/profiles/toys/profile.yaml\")\nmode(\"fast-toys\")\n\
                    #[cfg(test)]\nconst B: &str = \"toys\";\n";
        assert_eq!(named(text, &names), [(1, "toys"), (3, "toys"), (5, "toys"), (6, "fast-toys")]);
    }

    #[test]
    fn modes_of_both_spellings_are_read() {
        let profile = "name: toys\noptions:\n- {name: size, help: h}\nmodes:\n- name: all-toys\n  description: d\n# Few.\n- {name: few, description: d}\nselection: {focus: a}\n- {name: no}\n";
        assert_eq!(modes(profile), ["all-toys", "few"]);
    }

    #[test]
    fn without_profiles_there_is_no_name() {
        let dir = tempfile::tempdir().unwrap();
        assert!(names(&dir.path().join("profiles")).unwrap().is_empty());
    }
}

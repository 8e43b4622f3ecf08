//! The list of built-in profiles, as source code.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Files in the root of a bundle that are not embedded as they are: the definition and the profile
/// have fields of their own, and the last one is for people.
const OTHERS: [&str; 3] = ["plugin.yaml", "profile.yaml", "README.md"];

/// Returns the declaration for the directory that the user of a build names. A program without any
/// bundle would run no suite, so a directory without bundles is an error.
pub(crate) fn named_declaration(root: &Path) -> Result<String, Box<dyn Error>> {
    if entries(root)?.iter().any(|path| path.is_dir()) {
        return declaration(root);
    }
    let why = "contains no bundle: name the absolute path of a directory of bundles";
    Err(format!("PLUMBLINE_PROFILES: `{}` {why}", root.display()).into())
}

/// Returns the declaration of the built-in profiles: those of the bundles in `root`. Each bundle has
/// a definition for a cluster, a profile, and the files that the profile names.
pub(crate) fn declaration(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut list = "static PROFILES: &[BuiltInProfile] = &[\n".to_owned();
    for bundle in entries(root)?.into_iter().filter(|path| path.is_dir()) {
        let (definition, profile) = (bundle.join("plugin.yaml"), bundle.join("profile.yaml"));
        let text = fs::read_to_string(&definition).map_err(|error| format!("{}: {error}", definition.display()))?;
        let name = text.lines().find_map(|line| line.trim().strip_prefix("plugin-name:"));
        let name = name.ok_or_else(|| format!("{} has no `plugin-name`", definition.display()))?.trim();
        writeln!(
            list,
            "    BuiltInProfile {{ plugin: BuiltInDefinition {{ name: {name:?}, local: None, \
             cluster: Some(include_str!({definition:?})) }}, profile: include_bytes!({profile:?}), files: &["
        )?;
        for path in files(&bundle)? {
            let name = path.strip_prefix(&bundle)?.to_string_lossy().into_owned();
            if OTHERS.contains(&name.as_str()) {
                continue;
            }
            writeln!(list, "        ({name:?}, include_bytes!({path:?})),")?;
        }
        list.push_str("    ] },\n");
    }
    list.push_str("];\n");
    Ok(list)
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for path in entries(directory)? {
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

/// Returns the entries of a directory, in order. Git keeps no empty directory, so one that does not
/// exist has none.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>()?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("{}: {error}", directory.display()).into()),
    };
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

//! Lists in files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::error::ListError;
use super::list::TestList;
use super::resolve::resolve;
use super::text::{Kept, MAX_PACKED, kept, parse};
use super::version::{Version, closest, latest, told};

/// How the files of a directory may end.
const ENDINGS: [&str; 3] = [".gz", ".txt", ""];
/// Entries of a directory that are looked at: a list for every patch version of ten years is below a thousand.
const MAX_ENTRIES: usize = 10_000;

/// The list of `version` in a directory of lists `VERSION.gz`, `VERSION.txt` or `VERSION`; if there is none of exactly that version, the closest one of the same minor version, and the
/// list says of which it is. An empty `version` is the latest.
///
/// # Errors
/// When the directory or a file in it cannot be read, `version` is none or has no list, or a file is no list.
pub fn read_dir(dir: &Path, version: &str) -> Result<TestList, ListError> {
    let place = dir.display().to_string();
    let known = versions_in(dir)?;
    let names = || known.iter().map(String::as_str);
    let chosen = match version {
        "" => latest(names()),
        version => {
            let wanted = Version::parse(version).ok_or_else(|| ListError::Version(version.to_owned()))?;
            closest(&wanted, names())
        }
    };
    let chosen = chosen.ok_or_else(|| ListError::Unknown {
        version: if version.is_empty() { "any version".to_owned() } else { version.to_owned() },
        place: format!("`{place}`"),
        known: told(names()),
    })?;
    resolve(chosen, &place, &mut |version| of_version(dir, version))
}

/// The bytes of the list of exactly `version` in a directory.
fn of_version(dir: &Path, version: &str) -> Result<Option<Vec<u8>>, ListError> {
    for ending in ENDINGS {
        let path = dir.join(format!("{version}{ending}"));
        // What is found by itself is a file, or nothing: a pipe would be waited for.
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            let error = io::Error::other("it is not a regular file");
            return Err(ListError::Read { place: path.display().to_string(), error });
        }
        match read(&path) {
            Err(ListError::Read { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.map(Some),
        }
    }
    Ok(None)
}

/// The versions of the lists in a directory, in the order of their names.
///
/// # Errors
/// When the directory cannot be read.
pub fn versions_in(dir: &Path) -> Result<Vec<String>, ListError> {
    let failed = |error| ListError::Read { place: dir.display().to_string(), error };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)?.take(MAX_ENTRIES) {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else { continue };
        let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        // Only what is named as it is looked for again.
        if Version::parse(stem).is_some_and(|version| version.name() == stem) {
            found.push(stem.to_owned());
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The list in one file; the file's name says the version, if it is named so. One that is told by its differences to another is put together with what
/// stands beside it.
///
/// # Errors
/// When it cannot be read, or is no list that is whole.
pub fn read_file(path: &Path) -> Result<TestList, ListError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let version = Version::parse(stem).map(|version| version.name()).unwrap_or_default();
    let (bytes, place) = (read(path)?, path.display().to_string());
    match kept(&bytes, &place)? {
        Kept::Delta { .. } if !version.is_empty() => {
            let dir = path.parent().unwrap_or(Path::new(""));
            resolve(&version, &dir.display().to_string(), &mut |wanted| match wanted == version {
                true => Ok(Some(bytes.clone())),
                false => of_version(dir, wanted),
            })
        }
        _ => parse(&bytes, &version, &place),
    }
}

/// Up to one byte more than a list may have.
fn read(path: &Path) -> Result<Vec<u8>, ListError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_PACKED + 1).read_to_end(&mut bytes));
    read.map_err(|error| ListError::Read { place: path.display().to_string(), error })?;
    Ok(bytes)
}

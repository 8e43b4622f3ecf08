//! Where lists come from: this program, directories and files. A list may be stored as differences to
//! other lists.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use super::list::{ListError, MAX_PACKED, StoredList, TestList, TextBudget, decode, parse};
use super::version::{Version, closest, latest, listed, older};

/// Name of the location in messages.
const PLACE: &str = "this program";

/// Lists by version that are part of a program, oldest version first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Embedded<'a> {
    lists: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Embedded<'a> {
    /// Sorts lists: the version and the bytes of each. Lists of invalid versions are left out.
    pub fn new(lists: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let versions = lists.into_iter().filter_map(|list| Some((Version::parse(list.0)?, list)));
        let mut sorted: Vec<_> = versions.collect();
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { lists: sorted.into_iter().map(|(_, list)| list).collect() }
    }

    /// Returns the versions of the lists, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &'a str> {
        self.lists.iter().map(|(version, _)| *version)
    }

    /// Returns the list of exactly `version`, if there is one.
    pub fn exact(&self, version: &str) -> Option<Result<TestList, ListError>> {
        let name = Version::parse(version)?.name();
        self.bytes(&name)?;
        Some(resolve(&name, PLACE, &mut |version| Ok(self.bytes(version).map(<[u8]>::to_vec))))
    }

    /// Returns the list that is closest to `version` within the same minor version. If there is
    /// none, it returns the latest list that is older. Without a version, it returns the latest
    /// list. The list tells its version ([`TestList::replacement_note`]).
    ///
    /// # Errors
    /// When `version` is invalid, or older than all lists.
    pub fn closest(&self, version: Option<&str>) -> Result<TestList, ListError> {
        let chosen = match version {
            None => latest(self.versions()),
            Some(version) => {
                let wanted = Version::parse(version).ok_or_else(|| ListError::Version(version.to_owned()))?;
                closest(&wanted, self.versions()).or_else(|| older(&wanted, self.versions()))
            }
        };
        let unknown = || ListError::Unknown {
            version: version.unwrap_or("any version").to_owned(),
            place: PLACE.to_owned(),
            known: listed(self.versions()),
        };
        self.exact(chosen.ok_or_else(unknown)?).ok_or_else(unknown)?
    }

    fn bytes(&self, version: &str) -> Option<&'a [u8]> {
        self.lists.iter().find(|(known, _)| *known == version).map(|(_, bytes)| *bytes)
    }
}

/// Suffixes of list files.
const ENDINGS: [&str; 3] = [".gz", ".txt", ""];
/// Maximum number of entries of a directory with lists. Lists for every patch version of ten years are
/// less than a thousand.
const MAX_ENTRIES: usize = 10_000;

/// Reads the list of `version` from a directory with files `VERSION.gz`, `VERSION.txt` or
/// `VERSION`. If that version is missing, it reads the closest one of the same minor version, and
/// the list tells its version. An empty `version` means the latest.
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
        known: listed(names()),
    })?;
    resolve(chosen, &place, &mut |version| of_version(dir, version))
}

/// Returns the bytes of the list of exactly `version` in a directory.
fn of_version(dir: &Path, version: &str) -> Result<Option<Vec<u8>>, ListError> {
    for ending in ENDINGS {
        let path = dir.join(format!("{version}{ending}"));
        // Reject other types than regular files, because reading from a pipe could block.
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

/// Returns the versions of the lists in a directory, sorted by name.
fn versions_in(dir: &Path) -> Result<Vec<String>, ListError> {
    let failed = |error| ListError::Read { place: dir.display().to_string(), error };
    let mut found = Vec::new();
    for (at, entry) in fs::read_dir(dir).map_err(failed)?.enumerate() {
        if at >= MAX_ENTRIES {
            return Err(ListError::TooMany { place: dir.display().to_string(), most: MAX_ENTRIES });
        }
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else { continue };
        let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        // Skip other spellings of a version, because a later lookup would not find them.
        if Version::parse(stem).is_some_and(|version| version.name() == stem) {
            found.push(stem.to_owned());
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Reads the list in one file. The version comes from the file name, if it has one. If the file is
/// a delta, it is resolved with the other files in the directory.
pub fn read_file(path: &Path) -> Result<TestList, ListError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let version = Version::parse(stem).map(|version| version.name()).unwrap_or_default();
    let (bytes, place) = (read(path)?, path.display().to_string());
    match decode(&bytes, &place, &mut TextBudget::default())? {
        StoredList::Delta { .. } if !version.is_empty() => {
            let dir = path.parent().unwrap_or(Path::new(""));
            resolve(&version, &dir.display().to_string(), &mut |wanted| match wanted == version {
                true => Ok(Some(bytes.clone())),
                false => of_version(dir, wanted),
            })
        }
        _ => parse(&bytes, &version, &place),
    }
}

/// Reads at most one byte more than a list may have.
fn read(path: &Path) -> Result<Vec<u8>, ListError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_PACKED + 1).read_to_end(&mut bytes));
    read.map_err(|error| ListError::Read { place: path.display().to_string(), error })?;
    Ok(bytes)
}

/// Maximum length of a chain of deltas.
const MAX_DELTAS: usize = 16;

/// Function that returns the bytes of the list of a version, or `None` if it does not exist.
pub type Read<'a> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, ListError> + 'a;

/// Reads the list of `version` from a storage of lists by version. `read` returns the bytes of a
/// version, or `None` if it does not exist. `place` is for messages.
pub fn resolve(version: &str, place: &str, read: &mut Read<'_>) -> Result<TestList, ListError> {
    let asked = Version::parse(version).ok_or_else(|| ListError::Version(version.to_owned()))?.name();
    let mut chain = vec![asked.clone()];
    let mut deltas = Vec::new();
    // All lists of a chain are in memory at the same time.
    let mut budget = TextBudget::default();
    let mut wanted = asked.clone();
    let whole = loop {
        let Some(bytes) = read(&wanted)? else {
            let known = match chain.as_slice() {
                [_] => "others".to_owned(),
                chain => format!("the lists that refer to it: {}", chain.join(", ")),
            };
            return Err(ListError::Unknown { version: wanted, place: place.to_owned(), known });
        };
        match decode(&bytes, &format!("{wanted} in {place}"), &mut budget)? {
            StoredList::Whole(names) => break names,
            StoredList::Delta { of, added, removed } => {
                let lost = |how| ListError::Deltas {
                    version: asked.clone(),
                    place: place.to_owned(),
                    how,
                    chain: chain.join(", "),
                };
                if chain.contains(&of) {
                    return Err(lost("in a circle"));
                }
                if chain.len() >= MAX_DELTAS {
                    return Err(lost("too far"));
                }
                deltas.push((added, removed));
                chain.push(of.clone());
                wanted = of;
            }
        }
    };
    let mut names: BTreeSet<String> = whole.into_iter().collect();
    // Apply deltas from the full list back to the requested one.
    for (added, removed) in deltas.into_iter().rev() {
        names.extend(added);
        for name in &removed {
            names.remove(name);
        }
    }
    // A list of no required tests would make every run pass.
    if names.is_empty() {
        return Err(ListError::Empty(format!("{asked} in {place}")));
    }
    Ok(TestList::new(&asked, names.iter().map(String::as_str), place))
}

/// Reads the list of exactly `version` from files by version. Only versions such as `v1.30.2` have
/// deltas. `read` and `place` are as for [`resolve`].
pub fn read_version(version: &str, place: &str, read: &mut Read<'_>) -> Result<TestList, ListError> {
    if Version::parse(version).is_some_and(|parsed| parsed.name() == version) {
        return resolve(version, place, read);
    }
    let unknown =
        || ListError::Unknown { version: version.to_owned(), place: place.to_owned(), known: "others".to_owned() };
    parse(&read(version)?.ok_or_else(unknown)?, version, place)
}

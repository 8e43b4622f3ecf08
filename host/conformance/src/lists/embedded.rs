//! Lists in this program.

use super::error::ListError;
use super::list::TestList;
use super::resolve::resolve;
use super::version::{Version, closest_version, latest, told};

/// What messages call it.
const PLACE: &str = "this program";

/// The lists, by version (data/e2e-lists/README.md says where they are from).
const LISTS: [(&str, &[u8]); 3] = [
    ("v1.29.6", include_bytes!("../../data/e2e-lists/v1.29.6.gz")),
    ("v1.30.1", include_bytes!("../../data/e2e-lists/v1.30.1.gz")),
    ("v1.30.2", include_bytes!("../../data/e2e-lists/v1.30.2.gz")),
];

/// The versions whose lists are in this program, from the first to the last.
pub fn embedded_versions() -> impl Iterator<Item = &'static str> {
    LISTS.iter().map(|(version, _)| *version)
}

/// The list of exactly `version`, if it is in this program.
#[must_use]
pub fn embedded(version: &str) -> Option<Result<TestList, ListError>> {
    let name = Version::parse(version)?.name();
    bytes(&name)?;
    Some(resolve(&name, PLACE, &mut |version| Ok(bytes(version).map(<[u8]>::to_vec))))
}

/// The list in this program that is closest to `version` and of the same minor version; without a version the latest. The list says of which version it is
/// ([`TestList::stands_in_for`]).
///
/// # Errors
/// When `version` is none, or no list is of its minor version.
pub fn embedded_for(version: Option<&str>) -> Result<TestList, ListError> {
    let chosen = match version {
        None => latest(embedded_versions()),
        Some(version) if Version::parse(version).is_none() => return Err(ListError::Version(version.to_owned())),
        Some(version) => closest_version(version, embedded_versions(), false),
    };
    let unknown = || ListError::Unknown {
        version: version.unwrap_or_default().to_owned(),
        place: PLACE.to_owned(),
        known: told(embedded_versions()),
    };
    embedded(chosen.ok_or_else(unknown)?).ok_or_else(unknown)?
}

fn bytes(version: &str) -> Option<&'static [u8]> {
    LISTS.iter().find(|(known, _)| *known == version).map(|(_, bytes)| *bytes)
}

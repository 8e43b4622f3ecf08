//! Lists in this program.

use super::error::ListError;
use super::list::TestList;
use super::resolve::resolve;
use super::version::{Version, closest, latest, older, told};
use crate::data::TESTS;

/// What messages call it.
const PLACE: &str = "this program";

/// The versions whose lists are in this program, from the first to the last.
pub fn embedded_versions() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|(version, _)| *version)
}

/// The list of exactly `version`, if it is in this program.
#[must_use]
pub fn embedded(version: &str) -> Option<Result<TestList, ListError>> {
    let name = Version::parse(version)?.name();
    bytes(&name)?;
    Some(resolve(&name, PLACE, &mut |version| Ok(bytes(version).map(<[u8]>::to_vec))))
}

/// The list in this program that is closest to `version` and of the same minor version. For a version that is newer than that, the
/// list of the version before it. Without a version, the latest. The list says of which version it is ([`TestList::stands_in_for`]).
///
/// # Errors
/// When `version` is none, or is older than all lists.
pub fn embedded_for(version: Option<&str>) -> Result<TestList, ListError> {
    let chosen = match version {
        None => latest(embedded_versions()),
        Some(version) => {
            let wanted = Version::parse(version).ok_or_else(|| ListError::Version(version.to_owned()))?;
            closest(&wanted, embedded_versions()).or_else(|| older(&wanted, embedded_versions()))
        }
    };
    let unknown = || ListError::Unknown {
        version: version.unwrap_or_default().to_owned(),
        place: PLACE.to_owned(),
        known: told(embedded_versions()),
    };
    embedded(chosen.ok_or_else(unknown)?).ok_or_else(unknown)?
}

fn bytes(version: &str) -> Option<&'static [u8]> {
    TESTS.iter().find(|(known, _)| *known == version).map(|(_, bytes)| *bytes)
}

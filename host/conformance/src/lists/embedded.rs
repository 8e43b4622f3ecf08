//! Lists that are embedded in this program.

use super::error::ListError;
use super::list::TestList;
use super::resolve::resolve;
use super::version::{Version, closest, latest, older, told};
use crate::data::TESTS;

/// Name of the location in messages.
const PLACE: &str = "this program";

/// Returns the versions of the embedded lists, oldest first.
pub fn embedded_versions() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|(version, _)| *version)
}

/// Returns the embedded list of exactly `version`, if there is one.
#[must_use]
pub fn embedded(version: &str) -> Option<Result<TestList, ListError>> {
    let name = Version::parse(version)?.name();
    bytes(&name)?;
    Some(resolve(&name, PLACE, &mut |version| Ok(bytes(version).map(<[u8]>::to_vec))))
}

/// Returns the embedded list that is closest to `version` within the same minor version. If there
/// is none, it returns the latest list that is older. Without a version, it returns the latest
/// list. The list tells its version ([`TestList::stands_in_for`]).
///
/// # Errors
/// When `version` is invalid, or older than all lists.
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

//! Reads `profile.yaml`.

mod check;
mod listing;
mod raw;
mod rules;
mod submission;

use plumbline_core::closest;
use serde_saphyr::{Error, Location};

use super::error::ProfileError;
use super::model::{MAX_PROFILE_BYTES, Profile};

impl Profile {
    /// Parses and checks a profile from the bytes of its file. Unknown keys are errors.
    pub fn parse(yaml: &[u8]) -> Result<Self, ProfileError> {
        if yaml.len() > MAX_PROFILE_BYTES {
            return Err(ProfileError::TooLarge(yaml.len() as u64));
        }
        let text = std::str::from_utf8(yaml).map_err(|error| ProfileError::NotUtf8(error.valid_up_to()))?;
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_aliases: 0, max_documents: 1, },
            with_snippet: false,
        };
        let raw: raw::RawProfile = serde_saphyr::from_str_with_options(text, options).map_err(|error| named(&error))?;
        check::checked(raw)
    }
}

/// Returns the error with the key and the line, if the parser knows them.
fn named(error: &Error) -> ProfileError {
    let error = error.without_snippet();
    let line = |location: &Location| location.line();
    match error {
        Error::SerdeUnknownField { field, expected, location } => {
            let meant = match closest(field, expected.iter().copied()) {
                Some(near) => format!(": did you mean `{near}`?"),
                None => format!(": the keys here are {}", quoted(expected)),
            };
            ProfileError::UnknownKey { key: plumbline_core::text::shortened(field, 100), line: line(location), meant }
        }
        Error::SerdeMissingField { field, location } => {
            ProfileError::Missing { key: (*field).to_owned(), line: line(location) }
        }
        other => {
            let text = other.to_string();
            let first = text.lines().next().unwrap_or_default();
            ProfileError::Yaml(plumbline_core::text::shortened(&plumbline_core::text::one_line(first), 300))
        }
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(crate) mod tests;

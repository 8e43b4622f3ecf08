//! The program that prints lists of a suite.

use serde_saphyr::Spanned;

use super::raw::RawListing;
use super::rules::{MAX_TEXT, invalid, is_relative};
use crate::profile::error::ProfileError;
use crate::profile::model::{Listing, ListingFormat};

/// Checks the program and its arguments.
pub(super) fn listing(raw: RawListing) -> Result<Listing, ProfileError> {
    let Some(program) = raw.program.value.strip_prefix('/').filter(|path| is_relative(path)) else {
        let why = "write the path of the program in the image, such as `/usr/local/bin/suite`";
        return Err(invalid("listing.program", &raw.program, why));
    };
    if raw.tests.is_none() && raw.required.is_none() && raw.images.is_none() {
        let why = "the program prints nothing: add arguments as `tests`, `required` or `images`";
        return Err(invalid("listing", &raw.program, why));
    }
    let format = match &raw.format {
        None => ListingFormat::Lines,
        Some(text) if text.value == "lines" => ListingFormat::Lines,
        Some(text) if text.value == "ginkgo" => ListingFormat::Ginkgo,
        Some(text) => return Err(invalid("listing.format", text, "write `lines` or `ginkgo`")),
    };
    Ok(Listing {
        program: program.to_owned(),
        tests: arguments("listing.tests", raw.tests)?,
        required: arguments("listing.required", raw.required)?,
        images: arguments("listing.images", raw.images)?,
        format,
    })
}

fn arguments(path: &str, raw: Option<Spanned<Vec<String>>>) -> Result<Vec<String>, ProfileError> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    let fits = |word: &String| !word.is_empty() && word.len() <= MAX_TEXT && !word.contains(char::is_control);
    if raw.value.is_empty() || !raw.value.iter().all(fits) {
        let why = format!("write arguments of 1 to {MAX_TEXT} characters without control characters");
        return Err(invalid(path, &raw, why));
    }
    Ok(raw.value)
}

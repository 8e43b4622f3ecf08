//! Reads the lists of tests in a profile's bundle.

use plumbline_bundle::Bundle;
use plumbline_bundle::profile::{ListError, MAX_LIST_BYTES, Settings, VERSION_PLACEHOLDER, parse_tests};
use plumbline_conformance::lists::{ListError as PackedError, MAX_PACKED, read_version};

use crate::error::AppError;
use crate::files::{read_bytes, read_start};

/// The end of the name of a compressed list.
const PACKED: &str = ".gz";

/// Reads a list of tests from the bundle, for the version of the settings. In the name `file`, a
/// placeholder stands for the version.
pub(super) fn read_list(
    bundle: &Bundle,
    settings: &Settings<'_>,
    file: &str,
    most: usize,
) -> Result<Vec<String>, AppError> {
    let profile = settings.profile();
    let named = settings.of_version(file);
    if !has(bundle, &named) {
        return Err(AppError::usage(format!("profile `{}` has no list of tests `{named}`", profile.name))
            .hint("choose another version of the suite, or add this file to the bundle"));
    }
    let wrong = || AppError::usage(format!("invalid list of tests `{named}` in profile `{}`", profile.name));
    if named.ends_with(PACKED) {
        let names = packed(bundle, settings, file).map_err(|error| {
            wrong().because(&error).hint("write the names of tests, one per line, and compress them with gzip")
        })?;
        return match names.len() > most {
            true => Err(wrong().because(&ListError::TooMany(most)).hint("leave some tests out")),
            false => Ok(names),
        };
    }
    let what = format!("invalid list of tests `{named}`");
    let bytes = read_bytes(&bundle.dir.join(&named), MAX_LIST_BYTES as u64, &what)?;
    parse_tests(&bytes, most).map_err(|error| wrong().because(&error).hint("write the name of one test into each line"))
}

/// Only files of the bundle are covered by its digest and its signatures.
fn has(bundle: &Bundle, file: &str) -> bool {
    bundle.files.iter().any(|known| known.name == file)
}

/// Reads a compressed list, which may have only the differences from that of another version.
fn packed(bundle: &Bundle, settings: &Settings<'_>, file: &str) -> Result<Vec<String>, PackedError> {
    let place = bundle.dir.display().to_string();
    let mut read = |version: &str| {
        let name = file.replace(VERSION_PLACEHOLDER, version);
        if !has(bundle, &name) {
            return Ok(None);
        }
        let read = read_start(&bundle.dir.join(&name), MAX_PACKED + 1);
        read.map(Some).map_err(|error| PackedError::Read { place: name, error })
    };
    Ok(read_version(settings.version(), &place, &mut read)?.tests)
}

//! The names of tests that focus and skip are held against.

use std::io;
use std::path::Path;

use plumbline_conformance::lists::{ListError, MAX_PACKED, TestList, read_dir, resolve};

use crate::error::CliError;
use crate::sources::address;

/// The list of `version` in a directory of lists, or at an address below which there is one for each version.
pub(super) async fn list(place: &str, version: &str) -> Result<TestList, CliError> {
    let (there, version) = (place.to_owned(), version.to_owned());
    // Files and answers are waited for on a thread of their own.
    let read = tokio::task::spawn_blocking(move || match address::is_address(&there) {
        true => below(&there, &version),
        false => read_dir(Path::new(&there), &version),
    });
    let read = read.await.unwrap_or_else(|error| Err(failed(place, &error)));
    read.map_err(|error| {
        CliError::usage(format!("invalid names of tests in `{place}`")).because(&error).hint(
            "`--e2e-lists` takes a directory with `VERSION.gz`, or the address of one; without it, the lists of this program are used",
        )
    })
}

fn below(address: &str, version: &str) -> Result<TestList, ListError> {
    let base = address.trim_end_matches('/');
    let limit = usize::try_from(MAX_PACKED).unwrap_or(usize::MAX);
    resolve(version, base, &mut |version| {
        let address = format!("{base}/{version}.gz");
        let got = address::get(&address, limit).map_err(|error| failed(&address, &error))?;
        got.map(Some).map_err(|cause| failed(&address, &cause))
    })
}

fn failed(place: &str, cause: &dyn std::fmt::Display) -> ListError {
    ListError::Read { place: place.to_owned(), error: io::Error::other(cause.to_string()) }
}

//! The names of tests that focus and skip are held against.

use std::io;
use std::path::Path;

use plumbline_conformance::lists::{ListError, MAX_PACKED, TestList, read_dir, resolve};
use tokio::runtime::Handle;

use super::fetch::fetch;
use crate::error::CliError;

/// The list of `version` in a directory of lists, or at an address below which there is one for each version.
pub(super) async fn list(place: &str, version: &str) -> Result<TestList, CliError> {
    let read = if is_address(place) { below(place, version).await } else { read_dir(Path::new(place), version) };
    read.map_err(|error| {
        CliError::usage(format!("the names of tests in `{place}` cannot be used"))
            .because(&error)
            .hint("`--e2e-lists` takes a directory with `VERSION.gz`, or the address of one; without it, the lists of this program are used")
    })
}

fn is_address(place: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| place.starts_with(scheme))
}

async fn below(address: &str, version: &str) -> Result<TestList, ListError> {
    let (base, version) = (address.trim_end_matches('/').to_owned(), version.to_owned());
    let failed =
        |place: &str, cause: String| ListError::Read { place: place.to_owned(), error: io::Error::other(cause) };
    let runtime = Handle::current();
    // A list may be told by differences to others: which are needed is known only step by step, by code that does not wait.
    let resolved = tokio::task::spawn_blocking({
        let base = base.clone();
        move || {
            resolve(&version, &base, &mut |version| {
                let address = format!("{base}/{version}.gz");
                runtime.block_on(fetch(&address, MAX_PACKED)).map_err(|cause| failed(&address, cause))
            })
        }
    });
    resolved.await.unwrap_or_else(|error| Err(failed(&base, error.to_string())))
}

//! The names of tests that focus and skip are held against.

use std::io;
use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::Context;
use plumbline_app::sources::url;
use plumbline_conformance::lists::{ListError, MAX_PACKED, TestList, read_dir, resolve};

/// The list of `version` in a directory of lists, or at an address below which there is one for each version.
pub(super) async fn list(context: &Context, place: &str, version: &str) -> Result<TestList, AppError> {
    let (context, there, version) = (context.clone(), place.to_owned(), version.to_owned());
    // Files and answers are waited for on a thread of their own.
    let read = tokio::task::spawn_blocking(move || match url::is_url(&there) {
        true => below(&context, &there, &version),
        false => read_dir(Path::new(&there), &version),
    });
    let read = read.await.unwrap_or_else(|error| Err(failed(place, &error)));
    read.map_err(|error| {
        AppError::usage(format!("invalid names of tests in `{place}`")).because(&error).hint(
            "`--e2e-lists` takes a directory with `VERSION.gz`, or the address of one; without it, the lists of this program are used",
        )
    })
}

fn below(context: &Context, address: &str, version: &str) -> Result<TestList, ListError> {
    let base = address.trim_end_matches('/');
    let limit = usize::try_from(MAX_PACKED).unwrap_or(usize::MAX);
    resolve(version, base, &mut |version| {
        let address = format!("{base}/{version}.gz");
        let got = url::get(context, &address, limit).map_err(|error| failed(&address, &error))?;
        got.map(Some).map_err(|cause| failed(&address, &cause))
    })
}

fn failed(place: &str, cause: &dyn std::fmt::Display) -> ListError {
    ListError::Read { place: place.to_owned(), error: io::Error::other(cause.to_string()) }
}

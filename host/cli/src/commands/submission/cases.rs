//! The test cases of a `junit_01.xml` outside of a submission.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use plumbline_app::AppError;
use plumbline_conformance::submission::Cases;

/// Bytes of a file of results: 256 MiB. Those of a whole run of the suite have 2.5 MiB.
pub(super) const MAX_RESULTS: u64 = 256 << 20;

/// Reads the cases of the file at `path` as the verifier does.
pub(super) fn read_cases(path: &Path) -> Result<Cases, AppError> {
    let wrong = |error: &io::Error| {
        AppError::usage(format!("failed to read the results in `{}`", path.display())).because(error)
    };
    let mut document = Vec::new();
    let file = File::open(path).map_err(|error| wrong(&error))?;
    file.take(MAX_RESULTS + 1).read_to_end(&mut document).map_err(|error| wrong(&error))?;
    if document.len() as u64 > MAX_RESULTS {
        return Err(wrong(&io::Error::other(format!("it has more than {MAX_RESULTS} bytes"))));
    }
    Ok(Cases::read(&document))
}

//! The program to measure.

use plumbline_dev::Result;
use std::env;
use std::path::{Path, PathBuf};

/// Returns the path of `plumbline`: the given one, or the one next to this program. Returns `None`
/// if it does not exist, and prints that `what` is skipped.
pub(crate) fn plumbline(what: &str, given: Option<&Path>) -> Result<Option<PathBuf>> {
    let program = match given {
        Some(program) => program.to_owned(),
        None => env::current_exe()?.with_file_name("plumbline"),
    };
    if program.is_file() {
        return Ok(Some(program));
    }
    println!("\nskipped: {what}: `{}` does not exist; build it first", program.display());
    Ok(None)
}

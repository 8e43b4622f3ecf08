//! `cargo xtask release --twice`: builds the program of this machine a second time, and compares.
//!
//! Both builds use the same directory, because the compiler writes parts of its path into the
//! program. The modules in the program are built once.

use std::fs;

use super::inputs::Program;
use crate::error::Error;
use crate::paths::Workspace;
use crate::program::{self, Release};
use crate::steps::Outcome;

/// Builds the program of this machine again, without anything of the first build, and compares the
/// bytes. The first build stays next to the second one if they differ.
pub(super) fn same_program(workspace: &Workspace, built: &[Program]) -> Result<Outcome, Error> {
    let Some(first) = built.iter().find(|one| one.platform.is_native()) else {
        return Ok(Outcome::Skipped("no program for this machine was built".to_owned()));
    };
    let path = program::path(workspace, first.platform, program::PROGRAM);
    let Some(directory) = path.parent().filter(|_| first.path == path) else {
        return Ok(Outcome::Skipped("`--binary` names the program".to_owned()));
    };
    let kept = directory.with_extension("first");
    if kept.exists() {
        fs::remove_dir_all(&kept).map_err(Error::io("remove", &kept))?;
    }
    fs::rename(directory, &kept).map_err(Error::io("rename", directory))?;
    let second = Release::new(workspace, first.platform)?.build(&[])?;
    let bytes = fs::read(&second).map_err(Error::io("read the program", &second))?;
    if let Some(difference) = difference(&first.bytes, &bytes) {
        return Err(Error::unexpected(format!(
            "a second build gives another program: {difference}; compare `{}` with `{}`",
            kept.join(program::PROGRAM).display(),
            second.display()
        )));
    }
    fs::remove_dir_all(&kept).map_err(Error::io("remove", &kept))?;
    Ok(Outcome::Passed)
}

/// Returns where two programs differ.
fn difference(first: &[u8], second: &[u8]) -> Option<String> {
    if first.len() != second.len() {
        return Some(format!("{} and {} bytes", first.len(), second.len()));
    }
    let offset = first.iter().zip(second).position(|(one, other)| one != other)?;
    Some(format!("the first difference is at offset {offset:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_other_bytes_differ() {
        assert_eq!(difference(b"program", b"program"), None);
        assert_eq!(difference(b"program", b"progrom").unwrap(), "the first difference is at offset 0x5");
        assert_eq!(difference(b"program", b"programs").unwrap(), "7 and 8 bytes");
    }
}

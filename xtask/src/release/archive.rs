//! The archive for users without a package manager.

use super::VERSION;
use super::inputs::{Inputs, Program};
use crate::error::Error;
use crate::image::tree::{self, Tree, add_file};
use crate::program::Platform;

/// Returns the name of the archive.
pub(super) fn name(platform: Platform) -> String {
    format!("{}.tar.gz", directory(platform))
}

/// Returns the one directory that the archive contains.
fn directory(platform: Platform) -> String {
    format!("plumbline-v{VERSION}-linux-{}", platform.architecture)
}

/// Packs the program with its documents.
pub(super) fn pack(inputs: &Inputs, program: &Program) -> Result<Vec<u8>, Error> {
    let (mut tree, top, docs) = (Tree::new(), directory(program.platform), &inputs.docs);
    add_file(&mut tree, &format!("{top}/plumbline"), 0o755, &program.bytes);
    add_file(&mut tree, &format!("{top}/LICENSE"), 0o644, &docs.license);
    add_file(&mut tree, &format!("{top}/README.md"), 0o644, &docs.readme);
    for (name, bytes) in &docs.completions {
        add_file(&mut tree, &format!("{top}/completions/{name}"), 0o644, bytes);
    }
    for (name, bytes) in &docs.pages {
        add_file(&mut tree, &format!("{top}/man/man1/{name}"), 0o644, bytes);
    }
    tree::compress(&tree)
}

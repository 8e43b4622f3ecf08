//! Signed bundles: which bundle is signed, where its signatures are, and which signatures count.

mod admission;
mod policy;
mod target;

pub use admission::{Requirements, check, packed_provenance, provenance};
pub use policy::{Trust, key_error, one_key, policy, signing_key};
pub use target::Target;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a text file of at most `max` bytes.
fn bounded_text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(max + 1).read_to_string(&mut text)?;
    match text.len() as u64 > max {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max} bytes"))),
        false => Ok(text),
    }
}

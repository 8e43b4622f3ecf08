//! Bundles that are signed: which one is meant, where its signatures are, and whose count.

mod candidates;
mod key;
mod policy;
mod require;
mod target;

pub(crate) use candidates::{judge, packed_provenance, provenance};
pub(crate) use key::{key_error, signing_key};
pub(crate) use policy::{one_key, policy};
pub(crate) use target::Target;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The text in a file of at most `max` bytes.
fn bounded_text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(max + 1).read_to_string(&mut text)?;
    match text.len() as u64 > max {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max} bytes"))),
        false => Ok(text),
    }
}

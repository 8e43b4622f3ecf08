//! Writer for the tar of a bundle.

use std::io::{self, Write};

use crate::ustar::header::Header;
use crate::ustar::{BLOCK, padding};

/// Writes files one after another. The caller must pass them sorted by name.
pub(crate) struct Writer<W> {
    to: W,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to }
    }

    /// Writes a file whose name was checked.
    pub(crate) fn file(&mut self, name: &str, executable: bool, content: &[u8]) -> io::Result<()> {
        let size = content.len() as u64;
        let header = Header { name: name.to_owned(), size, executable }.encode();
        let header = header.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the name is too long"))?;
        self.to.write_all(&header)?;
        self.to.write_all(content)?;
        self.to.write_all([0; BLOCK].get(..padding(size)).unwrap_or_default())
    }

    /// Writes the end of the tar.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&[0; 2 * BLOCK])?;
        self.to.flush()?;
        Ok(self.to)
    }
}

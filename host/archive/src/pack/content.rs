//! Content on its way into an archive: exactly as long as its header says, and within the total
//! limit.

use std::io::{self, Read, Write};

use super::error::PackError;

/// A reader that returns exactly the first `size` bytes of a file, or an error. Data that is
/// appended meanwhile is not read.
pub(super) struct Content<'a, R> {
    file: R,
    shown: &'a str,
    size: u64,
    left: u64,
    cancelled: &'a mut dyn FnMut() -> bool,
    /// The error that occurred here. The `tar` crate does not distinguish errors of the reader from
    /// those of the writer.
    fault: Option<PackError>,
}

impl<'a, R: Read> Content<'a, R> {
    pub(super) fn new(file: R, size: u64, shown: &'a str, cancelled: &'a mut dyn FnMut() -> bool) -> Self {
        Self { file, shown, size, left: size, cancelled, fault: None }
    }

    pub(super) fn into_fault(self) -> Option<PackError> {
        self.fault
    }

    fn fail(&mut self, fault: PackError) -> io::Error {
        self.fault = Some(fault);
        io::Error::other("the content ends early")
    }
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if (self.cancelled)() {
            return Err(self.fail(PackError::Cancelled));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let Some(out) = out.get_mut(..most).filter(|out| !out.is_empty()) else { return Ok(0) };
        match self.file.read(out) {
            Ok(0) => {
                let got = self.size.saturating_sub(self.left);
                let member = self.shown.to_owned();
                Err(self.fail(PackError::Shrunk { member, expected: self.size, got }))
            }
            Ok(read) => {
                self.left = self.left.saturating_sub(read as u64);
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(source) => {
                let member = self.shown.to_owned();
                Err(self.fail(PackError::Read { member, source }))
            }
        }
    }
}

/// A writer that passes a limited number of bytes on and rejects more.
pub(super) struct Capped<W> {
    out: W,
    left: u64,
}

/// The inner error of a [`Capped`] writer.
#[derive(Debug, thiserror::Error)]
#[error("the limit is reached")]
pub(super) struct CapReached;

impl<W> Capped<W> {
    pub(super) fn new(out: W, limit: Option<u64>) -> Self {
        Self { out, left: limit.unwrap_or(u64::MAX) }
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for Capped<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(data.len());
        let Some(fits) = data.get(..most).filter(|fits| !fits.is_empty() || data.is_empty()) else {
            return Err(io::Error::other(CapReached));
        };
        let taken = self.out.write(fits)?;
        self.left = self.left.saturating_sub(taken as u64);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8], size: u64) -> (Vec<u8>, Option<PackError>) {
        let (mut out, mut go_on) = (Vec::new(), || false);
        let mut content = Content::new(data, size, "file", &mut go_on);
        let result = content.read_to_end(&mut out);
        let fault = content.into_fault();
        assert_eq!(result.is_err(), fault.is_some());
        (out, fault)
    }

    #[test]
    fn a_file_that_grows_is_what_it_was_and_one_that_shrinks_is_an_error() {
        assert!(matches!(read(b"abcdef", 4), (data, None) if data == b"abcd"));
        assert!(matches!(read(b"abc", 3), (data, None) if data == b"abc"));
        assert!(matches!(read(b"abc", 5).1, Some(PackError::Shrunk { expected: 5, got: 3, .. })));
    }

    #[test]
    fn the_cap_is_reached_at_the_byte_after_it() {
        let mut capped = Capped::new(Vec::new(), Some(4));
        capped.write_all(b"abcd").unwrap();
        assert_eq!(capped.write(b"").unwrap(), 0);
        let error = capped.write_all(b"e").unwrap_err();
        assert!(error.get_ref().is_some_and(|inner| inner.is::<CapReached>()));
        assert_eq!(capped.into_inner(), b"abcd");
    }
}

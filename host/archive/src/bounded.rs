//! A reader and a writer of a limited number of bytes.

use std::io::{self, Read, Write};

/// A reader that returns exactly the first `size` bytes of a file, or an error. Data that is
/// appended meanwhile is not read.
pub(crate) struct ExactReader<'a, R> {
    pub(crate) file: R,
    size: u64,
    left: u64,
    cancelled: &'a mut dyn FnMut() -> bool,
    /// The error that occurred here. The `tar` crate does not distinguish errors of the reader from
    /// those of the writer.
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug)]
pub(crate) enum Fault {
    Cancelled,
    /// The file became shorter.
    Shorter {
        got: u64,
    },
    Read(io::Error),
}

impl<'a, R: Read> ExactReader<'a, R> {
    pub(crate) fn new(file: R, size: u64, cancelled: &'a mut dyn FnMut() -> bool) -> Self {
        Self { file, size, left: size, cancelled, fault: None }
    }

    fn fail(&mut self, fault: Fault) -> io::Error {
        self.fault = Some(fault);
        io::Error::other("the content ends early")
    }
}

impl<R: Read> Read for ExactReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if (self.cancelled)() {
            return Err(self.fail(Fault::Cancelled));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let Some(out) = out.get_mut(..most).filter(|out| !out.is_empty()) else { return Ok(0) };
        match self.file.read(out) {
            Ok(0) => Err(self.fail(Fault::Shorter { got: self.size.saturating_sub(self.left) })),
            Ok(read) => {
                self.left = self.left.saturating_sub(read as u64);
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(self.fail(Fault::Read(error))),
        }
    }
}

/// A writer that passes a limited number of bytes on and rejects more.
pub(crate) struct Capped<W> {
    pub(crate) out: W,
    pub(crate) left: u64,
}

/// The inner error of a [`Capped`] writer.
#[derive(Debug, thiserror::Error)]
#[error("the limit is reached")]
pub(crate) struct CapReached;

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

    fn read(data: &[u8], size: u64) -> (Vec<u8>, Option<Fault>) {
        let (mut out, mut go_on) = (Vec::new(), || false);
        let mut content = ExactReader::new(data, size, &mut go_on);
        assert_eq!(content.read_to_end(&mut out).is_err(), content.fault.is_some());
        (out, content.fault)
    }

    #[test]
    fn a_file_that_grows_is_what_it_was_and_one_that_shrinks_is_an_error() {
        assert!(matches!(read(b"abcdef", 4), (data, None) if data == b"abcd"));
        assert!(matches!(read(b"abc", 3), (data, None) if data == b"abc"));
        assert!(matches!(read(b"abc", 5).1, Some(Fault::Shorter { got: 3 })));
    }

    #[test]
    fn the_cap_is_reached_at_the_byte_after_it() {
        let mut capped = Capped { out: Vec::new(), left: 4 };
        capped.write_all(b"abcd").unwrap();
        assert_eq!(capped.write(b"").unwrap(), 0);
        let error = capped.write_all(b"e").unwrap_err();
        assert!(error.get_ref().is_some_and(|inner| inner.is::<CapReached>()));
        assert_eq!(capped.out, b"abcd");
    }
}

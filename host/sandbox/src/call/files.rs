//! The files of one call, as the module sees them.

use std::io::{ErrorKind, Read};

use crate::call::clock::Clock;
use crate::call::io::{InputFile, OpenFile};
use crate::failure::Stop;
use crate::failure::Unit;

/// The maximum number of bytes that one read returns, as in the WIT.
const MAX_READ: usize = 1 << 20;

/// The type behind the WIT resource `file`. The number of a handle is the index of the file.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct FileHandle;

/// The files of one call.
pub(crate) struct Files {
    files: Vec<Option<File>>,
    read: u64,
    limit: u64,
}

struct File {
    path: String,
    size: u64,
    content: Content,
}

enum Content {
    Unopened(OpenFile),
    Open(Box<dyn Read + Send>),
    End,
    Failed(String),
}

impl Files {
    /// `limit` is the number of bytes that may be read from all files together.
    pub(crate) fn new(files: Vec<InputFile>, limit: u64) -> Self {
        let file = |InputFile { path, size, open }| Some(File { path, size, content: Content::Unopened(open) });
        Self { files: files.into_iter().map(file).collect(), read: 0, limit }
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.read
    }

    pub(crate) fn path(&self, index: u32) -> Option<&str> {
        self.get(index).map(|file| file.path.as_str())
    }

    pub(crate) fn size(&self, index: u32) -> Option<u64> {
        self.get(index).map(|file| file.size)
    }

    pub(crate) fn close(&mut self, index: u32) {
        if let Some(slot) = usize::try_from(index).ok().and_then(|index| self.files.get_mut(index)) {
            *slot = None;
        }
    }

    fn get(&self, index: u32) -> Option<&File> {
        self.files.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Reads the next bytes of a file. It returns as many as requested unless the file ends, so
    /// that a module makes few calls. The inner error is passed to the module.
    pub(crate) fn read(&mut self, index: u32, max: u32, clock: &Clock) -> Result<Result<Vec<u8>, String>, Stop> {
        clock.check()?;
        let slot = usize::try_from(index).ok().and_then(|index| self.files.get_mut(index));
        let Some(Some(file)) = slot else {
            return Ok(Err("the file is closed".into()));
        };
        let max = usize::try_from(max).unwrap_or(MAX_READ).min(MAX_READ);
        let bytes = file.read(max, clock)?;
        if let Ok(bytes) = &bytes {
            self.read = self.read.saturating_add(bytes.len() as u64);
            if self.read > self.limit {
                return Err(Stop::limit("input-bytes", self.limit, Unit::Bytes));
            }
        }
        Ok(bytes)
    }
}

impl File {
    fn read(&mut self, max: usize, clock: &Clock) -> Result<Result<Vec<u8>, String>, Stop> {
        loop {
            match &mut self.content {
                Content::Unopened(_) => self.open(),
                Content::Open(reader) => {
                    let mut bytes = vec![0; max];
                    let Filled { length, failed } = fill(reader.as_mut(), &mut bytes, clock)?;
                    bytes.truncate(length);
                    if let Some(reason) = failed {
                        self.content = Content::Failed(reason.clone());
                        // Data from before the error is still useful. The next call returns the
                        // error.
                        if length == 0 {
                            return Ok(Err(reason));
                        }
                    } else if length < max {
                        self.content = Content::End;
                    }
                    return Ok(Ok(bytes));
                }
                Content::End => return Ok(Ok(Vec::new())),
                Content::Failed(reason) => return Ok(Err(reason.clone())),
            }
        }
    }

    fn open(&mut self) {
        // `End` is a placeholder while the old value is moved out.
        self.content = match std::mem::replace(&mut self.content, Content::End) {
            Content::Unopened(open) => match open() {
                Ok(reader) => Content::Open(reader),
                Err(error) => Content::Failed(format!("failed to open the file: {error}")),
            },
            other => other,
        };
    }
}

struct Filled {
    length: usize,
    failed: Option<String>,
}

fn fill(reader: &mut dyn Read, buffer: &mut [u8], clock: &Clock) -> Result<Filled, Stop> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(n) => length += n.min(rest.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Ok(Filled { length, failed: Some(format!("failed to read the file: {error}")) }),
        }
        clock.check()?;
    }
    Ok(Filled { length, failed: None })
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};
    use std::sync::Arc;

    use super::*;

    fn file(open: impl FnOnce() -> io::Result<Box<dyn Read + Send>> + Send + 'static) -> InputFile {
        InputFile { path: "results/global/a".into(), size: 7, open: Box::new(open) }
    }

    fn clock() -> Clock {
        Clock::start(1000, Arc::default())
    }

    /// Returns one byte at a time and then fails.
    struct Flaky(u8);

    impl Read for Flaky {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 -= 1;
            if self.0 == 0 {
                return Err(io::Error::other("the disk is on fire"));
            }
            buffer[0] = self.0;
            Ok(1)
        }
    }

    #[test]
    fn reads_to_the_end_and_stays_there() {
        let mut files = Files::new(vec![file(|| Ok(Box::new(Cursor::new(b"1234567"))))], 7);
        assert_eq!((files.path(0), files.size(0)), (Some("results/global/a"), Some(7)));
        let mut read = |max| files.read(0, max, &clock()).unwrap().unwrap();
        assert_eq!(read(4), b"1234");
        assert_eq!(read(4), b"567");
        assert_eq!(read(4), b"");
        assert_eq!(read(4), b"");
        assert_eq!(files.bytes_read(), 7);
    }

    #[test]
    fn failures_are_told_to_the_module() {
        let mut files = Files::new(vec![file(|| Err(io::Error::other("gone"))), file(|| Ok(Box::new(Flaky(3))))], 100);
        assert_eq!(files.read(0, 4, &clock()).unwrap().unwrap_err(), "failed to open the file: gone");
        assert_eq!(files.read(0, 4, &clock()).unwrap().unwrap_err(), "failed to open the file: gone");
        assert_eq!(files.read(1, 4, &clock()).unwrap().unwrap(), [2, 1]);
        assert_eq!(files.read(1, 4, &clock()).unwrap().unwrap_err(), "failed to read the file: the disk is on fire");
        files.close(1);
        assert_eq!(files.read(1, 4, &clock()).unwrap().unwrap_err(), "the file is closed");
        assert_eq!(files.read(9, 4, &clock()).unwrap().unwrap_err(), "the file is closed");
    }

    #[test]
    fn a_read_is_bounded_and_all_reads_together_too() {
        let mut files = Files::new(vec![file(|| Ok(Box::new(io::repeat(1))))], MAX_READ as u64);
        assert_eq!(files.read(0, u32::MAX, &clock()).unwrap().unwrap().len(), MAX_READ);
        let stop = files.read(0, 1, &clock()).unwrap_err();
        assert_eq!(stop, Stop::limit("input-bytes", MAX_READ as u64, Unit::Bytes));
    }

    #[test]
    fn a_file_is_not_opened_before_it_is_read() {
        let files = Files::new(vec![file(|| panic!("opened"))], 1);
        assert_eq!(files.len(), 1);
    }
}

//! Readers for the files of an archive in sequence.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::index::MemberLocation;
use crate::gzip::Gunzip;

/// The number of bytes unpacked at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// A position in the unpacked stream of a `.tar.gz`. It only moves forward, and restarts at the
/// beginning to reach an earlier position.
pub(super) struct Cursor {
    file: File,
    stream: Option<BufReader<Gunzip<File>>>,
    at: u64,
}

impl Cursor {
    pub(super) fn new(file: File) -> Self {
        Self { file, stream: None, at: 0 }
    }

    /// Returns a reader at the start of the file.
    pub(super) fn rewound(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Moves to the start of `place`.
    fn go(&mut self, place: MemberLocation) -> io::Result<()> {
        if self.stream.is_none() || self.at > place.offset {
            // A clone shares its position with the original, so only one stream exists at a time.
            self.stream = None;
            self.stream = Some(BufReader::with_capacity(CHUNK_BYTES, Gunzip::or_tar(self.rewound()?)));
            self.at = 0;
        }
        while self.at < place.offset {
            let skipped = self.take(place.offset - self.at, |_| ())?.1;
            if skipped == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    /// Passes at most `most` of the next bytes to `look` and skips them.
    fn take<T>(&mut self, most: u64, look: impl FnOnce(&[u8]) -> T) -> io::Result<(T, u64)> {
        let Some(stream) = &mut self.stream else { return Err(io::Error::other("the archive is not open")) };
        let data = match stream.fill_buf() {
            Ok(data) => data,
            Err(error) => {
                // A failed stream stays failed, so the next one starts again.
                self.stream = None;
                return Err(error);
            }
        };
        let data = data.get(..usize::try_from(most).unwrap_or(usize::MAX).min(data.len())).unwrap_or_default();
        let (seen, taken) = (look(data), data.len());
        stream.consume(taken);
        self.at += taken as u64;
        Ok((seen, taken as u64))
    }
}

/// The content of one file. Its size was determined when the archive was opened, and a source that
/// ends earlier is an error.
pub struct FileReader<'a> {
    source: Source<'a>,
    size: u64,
    left: u64,
}

enum Source<'a> {
    Stream(&'a mut Cursor),
    File(cap_std::fs::File),
}

impl<'a> FileReader<'a> {
    pub(super) fn of_stream(cursor: &'a mut Cursor, place: MemberLocation) -> io::Result<Self> {
        cursor.go(place)?;
        Ok(Self { source: Source::Stream(cursor), size: place.size, left: place.size })
    }

    pub(super) fn of_file(file: cap_std::fs::File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file any more"));
        }
        Ok(Self { source: Source::File(file), size: metadata.len(), left: metadata.len() })
    }

    /// Returns the size of the whole file in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = self.left.min(out.len() as u64);
        let fits = usize::try_from(most).unwrap_or(usize::MAX).min(out.len());
        let Some(out) = out.get_mut(..fits).filter(|out| !out.is_empty()) else { return Ok(0) };
        let read = match &mut self.source {
            Source::File(file) => file.read(out)?,
            Source::Stream(cursor) => {
                let copy = |data: &[u8]| {
                    let filled = out.get_mut(..data.len()).map(|out| out.copy_from_slice(data));
                    filled.map_or(0, |()| data.len())
                };
                cursor.take(most, copy)?.0
            }
        };
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

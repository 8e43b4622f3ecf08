//! Files of an archive, one after the other.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::index::Place;
use crate::gzip::Gunzip;

/// Bytes unpacked at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// A place in the unpacked stream of a `.tar.gz`. It goes forward only; what lies behind is reached from the beginning.
pub(super) struct Cursor {
    file: File,
    stream: Option<BufReader<Gunzip<File>>>,
    at: u64,
}

impl Cursor {
    pub(super) fn new(file: File) -> Self {
        Self { file, stream: None, at: 0 }
    }

    /// A reader at the file's beginning.
    pub(super) fn rewound(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Goes to the beginning of `place`.
    fn go(&mut self, place: Place) -> io::Result<()> {
        if self.stream.is_none() || self.at > place.offset {
            // A clone shares its position with the original, so there is one stream at a time.
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

    /// Gives `look` at most so many of the next bytes, and goes past them.
    fn take<T>(&mut self, most: u64, look: impl FnOnce(&[u8]) -> T) -> io::Result<(T, u64)> {
        let Some(stream) = &mut self.stream else { return Err(io::Error::other("the archive is not open")) };
        let data = match stream.fill_buf() {
            Ok(data) => data,
            Err(error) => {
                // A failed stream stays failed; the next one begins anew.
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

/// The content of one file. It is as long as the archive said when it was opened; a source that ends earlier is an error.
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
    pub(super) fn of_stream(cursor: &'a mut Cursor, place: Place) -> io::Result<Self> {
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

    /// Bytes of the whole file.
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

//! Readers for the files of an archive in sequence.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};

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
        file.rewind()?;
        Ok(file)
    }

    /// Moves to this offset.
    fn go(&mut self, offset: u64) -> io::Result<()> {
        if self.stream.is_none() || self.at > offset {
            // A clone shares its position with the original, so only one stream exists at a time.
            self.stream = None;
            self.stream = Some(BufReader::with_capacity(CHUNK_BYTES, Gunzip::or_tar(self.rewound()?)));
            self.at = 0;
        }
        let distance = offset - self.at;
        let skipped = self.advance(|stream| io::copy(&mut stream.take(distance), &mut io::sink()))?;
        if skipped < distance { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Calls `read`, which returns how many bytes it has read.
    fn advance(&mut self, read: impl FnOnce(&mut BufReader<Gunzip<File>>) -> io::Result<u64>) -> io::Result<u64> {
        let Some(stream) = &mut self.stream else { return Err(io::Error::other("the archive is not open")) };
        // A failed stream stays failed, so the next one starts again.
        let taken = read(stream).inspect_err(|_| self.stream = None)?;
        self.at += taken;
        Ok(taken)
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
        cursor.go(place.offset)?;
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
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let Some(out) = out.get_mut(..most).filter(|out| !out.is_empty()) else { return Ok(0) };
        let read = match &mut self.source {
            Source::File(file) => file.read(out)? as u64,
            Source::Stream(cursor) => cursor.advance(|stream| stream.read(out).map(|read| read as u64))?,
        };
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(read);
        Ok(usize::try_from(read).unwrap_or(most))
    }
}

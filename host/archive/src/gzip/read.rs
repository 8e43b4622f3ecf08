//! Reads gzip from an untrusted source.

use std::io::{self, BufRead, BufReader, Read};
use std::mem;

use flate2::bufread::GzDecoder;
use plumbline_core::limits::EMPTY_GZIP_MEMBERS;

const SOURCE_BYTES: usize = 64 << 10;

/// The first byte of every gzip member (RFC 1952, section 2.3.1).
const MAGIC: u8 = 0x1f;

/// The position and value of the magic in the first header of a tar archive (POSIX.1, pax, "ustar
/// Interchange Format"). GNU tar writes it too.
const TAR_MAGIC: (std::ops::Range<usize>, &[u8]) = (257..262, b"ustar");

/// Returns whether a file that starts with these bytes is gzip or a tar archive. `head` has at
/// least 512 bytes, unless the file is shorter.
pub fn is_archive(head: &[u8]) -> bool {
    head.starts_with(&[MAGIC, 0x8b]) || is_tar(head)
}

fn is_tar(head: &[u8]) -> bool {
    let (at, magic) = TAR_MAGIC;
    head.get(at) == Some(magic)
}

/// Why a gzip stream could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GzipFault {
    /// The source itself failed, such as a lost connection or a bad disk.
    Source,
    /// The data is not gzip.
    NotGzip,
    /// The stream ends before its trailer.
    Truncated,
    /// The stream is damaged: its codes are invalid, or its checksum or length does not match the
    /// data.
    Corrupt,
}

/// Decompresses gzip (RFC 1952): one member, or several consecutive ones, which form one stream.
///
/// The data is only verified once [`Read::read`] has returned 0, since the checksum and length come
/// last. Data after the last member is read to the end of the source, so that the sender can
/// finish, but not interpreted. Zero bytes are padding, and [`Gunzip::trailing`] counts everything
/// else. A source that ends early is an error, and so are too many consecutive members without
/// content ([`EMPTY_GZIP_MEMBERS`]).
pub struct Gunzip<R> {
    state: State<Source<R>>,
    members: u64,
    /// The number of members since the last one with content.
    empty: u32,
    trailing: u64,
    fault: Option<GzipFault>,
    allows_tar: bool,
}

enum State<S> {
    Between(S),
    /// The content of an uncompressed tar archive.
    Plain(S),
    Within(Box<GzDecoder<S>>),
    After(S),
    Ended,
}

impl<R: Read> Gunzip<R> {
    /// Creates a reader that decompresses `source`, which needs no buffer of its own.
    pub fn new(source: R) -> Self {
        let inner = BufReader::with_capacity(SOURCE_BYTES, source);
        let state = State::Between(Source { inner, failed: false });
        Self { state, members: 0, empty: 0, trailing: 0, fault: None, allows_tar: false }
    }

    /// Creates a reader that decompresses `source`, or passes it on unchanged if it is a tar
    /// archive. The source must be a file, which returns its first 512 bytes at once.
    pub fn or_tar(source: R) -> Self {
        Self { allows_tar: true, ..Self::new(source) }
    }

    /// Returns the number of bytes after the last member, from the first nonzero byte on. The value
    /// is final once the end was read.
    pub fn trailing(&self) -> u64 {
        self.trailing
    }

    /// Returns why reading failed, if it did.
    pub fn fault(&self) -> Option<GzipFault> {
        self.fault
    }

    fn fail(&mut self, error: io::Error, source_failed: bool, fault: GzipFault) -> io::Error {
        self.state = State::Ended;
        self.fault = Some(if source_failed { GzipFault::Source } else { fault });
        error
    }

    fn next_member(&mut self, mut source: Source<R>) -> io::Result<()> {
        match source.fill_buf() {
            Err(error) => Err(self.fail(error, true, GzipFault::Source)),
            Ok(data) => {
                match data.first() {
                    Some(&MAGIC) if self.empty > EMPTY_GZIP_MEMBERS => {
                        let text = format!("more than {EMPTY_GZIP_MEMBERS} consecutive members are empty");
                        let flood = io::Error::new(io::ErrorKind::InvalidData, text);
                        return Err(self.fail(flood, false, GzipFault::Corrupt));
                    }
                    Some(&MAGIC) => {
                        self.members = self.members.saturating_add(1);
                        // Until it has content.
                        self.empty = self.empty.saturating_add(1);
                        self.state = State::Within(Box::new(GzDecoder::new(source)));
                    }
                    None if self.members == 0 => {
                        let empty = io::Error::new(io::ErrorKind::UnexpectedEof, "the stream is empty");
                        return Err(self.fail(empty, false, GzipFault::NotGzip));
                    }
                    Some(_) if self.members == 0 && self.allows_tar && is_tar(data) => {
                        self.state = State::Plain(source);
                    }
                    Some(_) if self.members == 0 => {
                        let other = io::Error::new(io::ErrorKind::InvalidData, "the stream has no gzip header");
                        return Err(self.fail(other, false, GzipFault::NotGzip));
                    }
                    _ => self.state = State::After(source),
                }
                Ok(())
            }
        }
    }

    /// Reads the source to its end.
    fn drain(&mut self, mut source: Source<R>) -> io::Result<()> {
        loop {
            let taken = match source.fill_buf() {
                Err(error) => return Err(self.fail(error, true, GzipFault::Source)),
                Ok([]) => {
                    self.state = State::Ended;
                    return Ok(());
                }
                Ok(data) => {
                    self.trailing = count_trailing(self.trailing, data);
                    data.len()
                }
            };
            source.consume(taken);
        }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match mem::replace(&mut self.state, State::Ended) {
                State::Between(source) => self.next_member(source)?,
                State::After(source) => self.drain(source)?,
                State::Plain(mut source) => match source.read(out) {
                    Ok(0) => {}
                    Ok(n) => {
                        self.state = State::Plain(source);
                        return Ok(n);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                        self.state = State::Plain(source);
                        return Err(error);
                    }
                    Err(error) => return Err(self.fail(error, true, GzipFault::Source)),
                },
                State::Within(mut decoder) => match decoder.read(out) {
                    Ok(0) => self.state = State::Between(decoder.into_inner()),
                    Ok(n) => {
                        self.empty = 0;
                        self.state = State::Within(decoder);
                        return Ok(n);
                    }
                    Err(error) => {
                        let fault = if error.kind() == io::ErrorKind::UnexpectedEof {
                            GzipFault::Truncated
                        } else if self.members == 1 && decoder.header().is_none() {
                            GzipFault::NotGzip
                        } else {
                            GzipFault::Corrupt
                        };
                        let source_failed = decoder.get_ref().failed;
                        return Err(self.fail(error, source_failed, fault));
                    }
                },
                State::Ended if self.fault.is_some() => {
                    return Err(io::Error::other("an earlier read of this gzip stream failed"));
                }
                State::Ended => return Ok(0),
            }
        }
    }
}

/// Adds `data` to a count of bytes that starts at the first nonzero byte.
pub(crate) fn count_trailing(so_far: u64, data: &[u8]) -> u64 {
    let counted = if so_far > 0 { data.len() } else { data.len() - data.iter().take_while(|&&b| b == 0).count() };
    so_far.saturating_add(counted as u64)
}

/// A source that remembers whether it failed, which the errors of the decoder do not show.
struct Source<R> {
    inner: BufReader<R>,
    failed: bool,
}

impl<R: Read> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.inner.buffer().is_empty() {
            match self.inner.fill_buf() {
                Ok([]) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
            }
        }
        Ok(self.inner.buffer())
    }

    fn consume(&mut self, taken: usize) {
        self.inner.consume(taken);
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut data = self.fill_buf()?;
        let taken = data.read(out)?;
        self.consume(taken);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn gz(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn read(packed: &[u8]) -> (io::Result<Vec<u8>>, u64, Option<GzipFault>) {
        let mut gunzip = Gunzip::new(packed);
        let mut data = Vec::new();
        let result = gunzip.read_to_end(&mut data).map(|_| data);
        (result, gunzip.trailing(), gunzip.fault())
    }

    #[test]
    fn members_count_as_one_stream() {
        let packed = [gz(b"one "), gz(b""), gz(b"two")].concat();
        let (data, trailing, fault) = read(&packed);
        assert_eq!((data.unwrap().as_slice(), trailing, fault), (b"one two".as_slice(), 0, None));
    }

    #[test]
    fn a_flood_of_empty_members_ends_at_a_limit() {
        let (empty, limit) = (gz(b""), EMPTY_GZIP_MEMBERS as usize);
        let few = [gz(b"one "), empty.repeat(limit), gz(b"two"), empty.repeat(limit)].concat();
        let (data, _, fault) = read(&few);
        assert_eq!((data.unwrap().as_slice(), fault), (b"one two".as_slice(), None));
        let (data, _, fault) = read(&[gz(b"one "), empty.repeat(limit + 2)].concat());
        assert_eq!(fault, Some(GzipFault::Corrupt));
        assert_eq!(data.unwrap_err().to_string(), "more than 1000 consecutive members are empty");
    }

    #[test]
    fn padding_is_not_garbage_and_garbage_is_counted() {
        for (tail, want) in [(b"\0\0\0".as_slice(), 0), (b"\0\0x\0y", 3), (b"garbage", 7)] {
            let (data, trailing, fault) = read(&[gz(b"data"), tail.to_vec()].concat());
            assert_eq!((data.unwrap().as_slice(), trailing, fault), (b"data".as_slice(), want, None));
        }
    }

    #[test]
    fn every_cut_is_seen() {
        let packed = gz(&b"some text, some text, some more text".repeat(20));
        for cut in 1..packed.len() {
            let (data, _, fault) = read(&packed[..cut]);
            assert!(data.is_err(), "cut at {cut}");
            assert_eq!(fault, Some(GzipFault::Truncated), "cut at {cut}");
        }
    }

    #[test]
    fn other_data_is_reported_as_not_gzip() {
        for data in [b"".as_slice(), b"hello", b"\x1fhello, hello, hello", b"PK\x03\x04"] {
            let (result, _, fault) = read(data);
            assert!(result.is_err());
            assert_eq!(fault, Some(GzipFault::NotGzip), "{data:?}");
        }
    }

    #[test]
    fn a_wrong_checksum_is_damage() {
        let mut packed = gz(b"some text");
        let at = packed.len() - 6;
        packed[at] ^= 1;
        assert_eq!(read(&packed).2, Some(GzipFault::Corrupt));
    }

    /// Returns its data in pieces with interruptions in between, and then fails like a lost
    /// connection.
    struct Lossy<'a>(Vec<&'a [u8]>, bool);

    impl Read for Lossy<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match self.0.pop() {
                Some(mut data) => data.read(out),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    #[test]
    fn a_failing_source_is_not_the_senders_damage() {
        let packed = gz(b"some text");
        for parts in [vec![], vec![&packed[..3]], vec![&packed[5..12], &packed[..5]], vec![packed.as_slice()]] {
            let mut gunzip = Gunzip::new(Lossy(parts, false));
            assert!(gunzip.read_to_end(&mut Vec::new()).is_err());
            assert_eq!(gunzip.fault(), Some(GzipFault::Source));
            assert!(gunzip.read(&mut [0]).is_err(), "a failed stream does not become an end");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_end(data in proptest::collection::vec(any::<u8>(), 0..2000), begin in any::<bool>()) {
            let mut input = if begin { vec![0x1f, 0x8b, 8] } else { Vec::new() };
            input.extend(data);
            let (result, _, fault) = read(&input);
            prop_assert_eq!(result.is_err(), fault.is_some());
        }
    }
}

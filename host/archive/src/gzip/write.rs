//! Writes one gzip member whose blocks are compressed on several threads, and computes digests.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::mem;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use flate2::{Compress, CompressError, Compression, Crc, FlushCompress, Status};
use plumbline_core::DigestWriter;

/// The number of input bytes that one thread compresses: 1 MiB. At this size, the five bytes of the
/// sync marker and the start of the thread are negligible, and so is the memory of a few blocks.
const BLOCK_BYTES: usize = 1 << 20;

/// The default compression level of gzip.
pub const DEFAULT_LEVEL: u32 = 6;

/// The maximum distance of a deflate reference (RFC 1951, section 2): how much of the previous
/// block a block may reuse.
const WINDOW_BYTES: usize = 32 << 10;

/// The maximum number of threads. One caller cannot feed more.
const MAX_THREADS: usize = 8;

/// The header from RFC 1952, section 2.3: magic, deflate, no flags, no time, no level hint, unknown
/// system. It does not depend on the machine or the time.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Returns the number of threads that this process can run in parallel, at most eight.
pub fn default_threads() -> NonZeroUsize {
    let most = NonZeroUsize::MIN.saturating_add(MAX_THREADS - 1);
    thread::available_parallelism().map_or(NonZeroUsize::MIN, |n| n.min(most))
}

/// Compresses the data written to it into one gzip member (RFC 1952) on `out`.
///
/// The input is split every MiB. Blocks are compressed in parallel, each with the end of the
/// previous one as its dictionary, and joined in order. The output depends only on the input and
/// the level, and not on the number of threads, their timing, or the sizes of the writes.
///
/// Each full block has its own thread. With one thread, or if the system refuses another, the
/// caller's thread compresses, and always the last block. Memory is limited to one block per thread
/// and the current one, each with its output.
///
/// [`ParallelGzip::finish`] completes the member. If the writer is dropped without it, the stream
/// lacks its end, and every reader reports it as truncated. An interrupted archive therefore never
/// looks complete.
#[must_use = "without `finish` the stream has no end"]
pub struct ParallelGzip<W> {
    out: W,
    level: Compression,
    threads: usize,
    filling: Block,
    in_flight: Threads,
    crc: Crc,
    header_written: bool,
    failed: bool,
}

impl<W: Write> ParallelGzip<W> {
    /// Compresses to `out` at `level` (0 to 9, higher ones count as 9, see [`DEFAULT_LEVEL`]). It
    /// uses up to `threads` threads in addition to the caller's, which writes.
    pub fn new(out: W, level: u32, threads: NonZeroUsize) -> Self {
        Self {
            out,
            level: Compression::new(level.min(9)),
            threads: threads.get(),
            filling: Block::default(),
            in_flight: Threads::default(),
            crc: Crc::new(),
            header_written: false,
            failed: false,
        }
    }

    /// Completes the member, flushes `out` and returns it.
    ///
    /// # Errors
    /// Returns the error of `out`, including one from an earlier write that the caller ignored.
    pub fn finish(mut self) -> io::Result<W> {
        self.check()?;
        let last = self.filling.compress(self.level, true).map_err(io::Error::other)?;
        while self.collect()? {}
        self.write_out(&last)?;
        let mut trailer = [0; 8];
        let (sum, size) = trailer.split_at_mut(4);
        sum.copy_from_slice(&self.crc.sum().to_le_bytes());
        size.copy_from_slice(&self.crc.amount().to_le_bytes());
        self.out.write_all(&trailer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn check(&self) -> io::Result<()> {
        if self.failed { Err(io::Error::other("an earlier write to this gzip stream failed")) } else { Ok(()) }
    }

    /// Compresses the full block, on a thread if possible, and starts the next one.
    fn dispatch(&mut self) -> io::Result<()> {
        if self.in_flight.0.len() >= self.threads {
            self.collect()?;
        }
        let window = self.filling.input.len().saturating_sub(WINDOW_BYTES);
        let dictionary = self.filling.input.get(window..).unwrap_or_default().to_vec();
        let next = Block { input: Vec::with_capacity(BLOCK_BYTES), dictionary };
        let block = Arc::new(mem::replace(&mut self.filling, next));
        let (job, level) = (Arc::clone(&block), self.level);
        let start = || thread::Builder::new().name("gzip".to_owned()).spawn(move || job.compress(level, false)).ok();
        if let Some(thread) = (self.threads > 1).then(start).flatten() {
            self.in_flight.0.push_back(thread);
            return Ok(());
        }
        let packed = block.compress(level, false).map_err(io::Error::other)?;
        while self.collect()? {}
        self.write_out(&packed)
    }

    /// Waits for the oldest block in flight and writes it. Returns `false` if no block is in
    /// flight.
    fn collect(&mut self) -> io::Result<bool> {
        let Some(oldest) = self.in_flight.0.pop_front() else { return Ok(false) };
        let packed = oldest.join().map_err(|_| io::Error::other("a compression thread ended early"))?;
        self.write_out(&packed.map_err(io::Error::other)?).map(|()| true)
    }

    fn write_out(&mut self, packed: &Packed) -> io::Result<()> {
        if !self.header_written {
            self.out.write_all(&HEADER)?;
            self.header_written = true;
        }
        self.out.write_all(&packed.bytes)?;
        self.crc.combine(&packed.crc);
        Ok(())
    }
}

impl<W: Write> Write for ParallelGzip<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.check()?;
        let input = &mut self.filling.input;
        let taken = data.len().min(BLOCK_BYTES.saturating_sub(input.len()));
        input.extend_from_slice(data.get(..taken).unwrap_or_default());
        if input.len() >= BLOCK_BYTES {
            self.dispatch().inspect_err(|_| self.failed = true)?;
        }
        Ok(taken)
    }

    /// Writes all full blocks to `out` and flushes it. A partial block waits for more input: ending
    /// it here would make the output depend on flushes.
    fn flush(&mut self) -> io::Result<()> {
        self.check()?;
        let mut flush = || -> io::Result<()> {
            while self.collect()? {}
            self.out.flush()
        };
        flush().inspect_err(|_| self.failed = true)
    }
}

/// The threads that compress one block each, oldest first.
#[derive(Default)]
struct Threads(VecDeque<JoinHandle<Result<Packed, CompressError>>>);

impl Drop for Threads {
    /// Waits for the threads of a writer that failed or was dropped, so that none outlives it.
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // What it compressed is discarded.
            let _ = thread.join();
        }
    }
}

/// A part of the input.
#[derive(Default)]
struct Block {
    input: Vec<u8>,
    /// The end of the previous block.
    dictionary: Vec<u8>,
}

/// A compressed block, and the checksum of its input.
struct Packed {
    bytes: Vec<u8>,
    crc: Crc,
}

impl Block {
    fn compress(&self, level: Compression, last: bool) -> Result<Packed, CompressError> {
        let mut compressor = Compress::new(level, false);
        if !self.dictionary.is_empty() {
            compressor.set_dictionary(&self.dictionary)?;
        }
        let mut crc = Crc::new();
        crc.update(&self.input);
        // A block other than the last ends with a sync marker (an empty stored block). It therefore
        // ends at a byte boundary, where the next one can be appended.
        let flush = if last { FlushCompress::Finish } else { FlushCompress::Sync };
        let mut bytes = Vec::with_capacity(self.input.len() + self.input.len() / 8 + 64);
        loop {
            let consumed = usize::try_from(compressor.total_in()).unwrap_or(usize::MAX);
            let rest = self.input.get(consumed..).unwrap_or_default();
            let status = compressor.compress_vec(rest, &mut bytes, flush)?;
            let all_taken = compressor.total_in() == self.input.len() as u64;
            // Free space in the output means that the compressor holds nothing back.
            let all_given = bytes.len() < bytes.capacity();
            if if last { status == Status::StreamEnd } else { all_taken && all_given } {
                return Ok(Packed { bytes, crc });
            }
            bytes.reserve(WINDOW_BYTES);
        }
    }
}

/// The size and digest of some data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The number of bytes.
    pub bytes: u64,
    /// The SHA-256 digest (FIPS 180-4): 64 lower-case hexadecimal digits.
    pub sha256: String,
}

impl Digest {
    /// Returns the size and digest of what the inner writer has accepted.
    pub fn of<W: Write>(writer: &DigestWriter<W>) -> Self {
        Self { bytes: writer.bytes(), sha256: writer.digest().hex() }
    }

    /// Reads `from` to its end.
    pub fn of_reader(mut from: impl Read) -> io::Result<Self> {
        let mut writer = DigestWriter::new(io::sink());
        io::copy(&mut from, &mut writer)?;
        Ok(Self::of(&writer))
    }
}

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;
    use proptest::prelude::*;

    use super::*;

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn compress(data: &[u8], n: usize, step: usize) -> Vec<u8> {
        let mut gzip = ParallelGzip::new(Vec::new(), DEFAULT_LEVEL, threads(n));
        for chunk in data.chunks(step) {
            gzip.write_all(chunk).unwrap();
        }
        gzip.finish().unwrap()
    }

    /// Decompresses exactly one gzip member with nothing after it, with a reader for single
    /// members.
    fn decompress(packed: &[u8]) -> Vec<u8> {
        let mut rest = packed;
        let mut data = Vec::new();
        let mut decoder = flate2::bufread::GzDecoder::new(&mut rest);
        decoder.read_to_end(&mut data).unwrap();
        drop(decoder);
        assert!(rest.is_empty(), "{} bytes after the member", rest.len());
        data
    }

    /// Returns text with a little variation, which compresses like logs.
    fn sample(bytes: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut data = Vec::with_capacity(bytes + 64);
        while data.len() < bytes {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            data.extend_from_slice(
                format!("I1120 13:00:00.{:06} item {} passed\n", state >> 12, state >> 25).as_bytes(),
            );
        }
        data.truncate(bytes);
        data
    }

    #[test]
    fn threads_and_write_sizes_do_not_change_a_byte() {
        for size in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 5 * BLOCK_BYTES + 12_345] {
            let data = sample(size);
            let one = compress(&data, 1, 8192);
            assert!(decompress(&one) == data, "{size} bytes");
            for (n, step) in [(2, 8192), (3, 777_777), (8, usize::MAX)] {
                assert!(compress(&data, n, step) == one, "{size} bytes, {n} threads");
            }
        }
    }

    #[test]
    fn blocks_reuse_what_the_block_before_held() {
        // Random bytes repeat with a period shorter than the window, so only the window makes later
        // blocks small.
        let mut state = 7u64;
        let period: Vec<u8> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let data: Vec<u8> = period.iter().copied().cycle().take(3 * BLOCK_BYTES).collect();
        let packed = compress(&data, 2, 65_536);
        assert!(decompress(&packed) == data);
        let mut whole = flate2::write::GzEncoder::new(Vec::new(), Compression::new(DEFAULT_LEVEL));
        whole.write_all(&data).unwrap();
        let whole = whole.finish().unwrap();
        assert!(packed.len() < whole.len() + 1_000, "{} against {} in one piece", packed.len(), whole.len());
    }

    #[test]
    fn flushing_does_not_change_a_byte() {
        let data = sample(2 * BLOCK_BYTES + 99);
        let mut gzip = ParallelGzip::new(Vec::new(), DEFAULT_LEVEL, threads(2));
        for chunk in data.chunks(300_000) {
            gzip.write_all(chunk).unwrap();
            gzip.flush().unwrap();
        }
        assert!(gzip.finish().unwrap() == compress(&data, 1, 4096));
    }

    #[test]
    fn without_finish_the_stream_is_truncated() {
        let mut out = Vec::new();
        let mut gzip = ParallelGzip::new(&mut out, DEFAULT_LEVEL, threads(2));
        gzip.write_all(&sample(3 * BLOCK_BYTES)).unwrap();
        gzip.flush().unwrap();
        drop(gzip);
        let error = GzDecoder::new(out.as_slice()).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    /// Accepts a number of bytes and is then full.
    struct Disk {
        left: usize,
    }

    impl Write for Disk {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            if self.left == 0 {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"));
            }
            let taken = data.len().min(self.left);
            self.left -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_surfaces_and_stays() {
        for n in [1, 2] {
            let mut gzip = ParallelGzip::new(Disk { left: 1000 }, DEFAULT_LEVEL, threads(n));
            // However many blocks are in flight, the error occurs within this amount of data.
            let error = gzip.write_all(&sample(8 * BLOCK_BYTES)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{n} threads");
            assert!(gzip.write_all(b"x").is_err());
            assert!(gzip.flush().is_err());
            assert!(gzip.finish().is_err());
        }
        let late = ParallelGzip::new(Disk { left: 12 }, DEFAULT_LEVEL, threads(2));
        assert_eq!(late.finish().err().map(|e| e.kind()), Some(io::ErrorKind::StorageFull));
    }

    #[test]
    fn memory_in_flight_is_bounded() {
        let mut gzip = ParallelGzip::new(io::sink(), 1, threads(2));
        for _ in 0..20 {
            gzip.write_all(&sample(BLOCK_BYTES)).unwrap();
            assert!(gzip.in_flight.0.len() <= 2);
            assert!(gzip.filling.input.capacity() <= 2 * BLOCK_BYTES);
        }
        gzip.finish().unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn anything_comes_back(data in proptest::collection::vec(any::<u8>(), 0..20_000), level in 0u32..12, n in 1usize..4) {
            let mut gzip = ParallelGzip::new(Vec::new(), level, threads(n));
            gzip.write_all(&data).unwrap();
            prop_assert_eq!(decompress(&gzip.finish().unwrap()), data);
        }
    }
}

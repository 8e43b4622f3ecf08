//! Reads the timeline of an archive.

use std::io::{self, BufRead, BufReader, Read};

use plumbline_archive::layout::META_TIMELINE;
use plumbline_archive::results::{ReadError, ResultsArchive};
use plumbline_core::limits::{TIMELINE_BYTES, TIMELINE_ENTRIES};
use plumbline_core::timeline::{MAX_LINE, TimelineEntry};

use super::spans::{Builder, Timeline};

/// Reads the timeline. An archive without one has an empty timeline. Lines that are not entries are
/// counted, and so is everything above the limits of a recording.
pub(crate) fn read(archive: &mut ResultsArchive) -> Result<Timeline, ReadError> {
    if archive.size(META_TIMELINE).is_none() {
        return Ok(Timeline::default());
    }
    let file = archive.file(META_TIMELINE)?;
    read_from(file).map_err(|source| ReadError::File(META_TIMELINE.to_owned(), source))
}

fn read_from(file: impl Read) -> io::Result<Timeline> {
    let mut reader = BufReader::new(file.take(TIMELINE_BYTES));
    let mut builder = Builder::default();
    let mut line = Vec::new();
    for _ in 0..TIMELINE_ENTRIES {
        line.clear();
        if reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(builder.finish());
        }
        if line.len() > MAX_LINE && line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
        }
        match line.trim_ascii() {
            b"" => {}
            line => match TimelineEntry::parse(line) {
                Some(entry) => builder.add(entry),
                None => builder.unread += 1,
            },
        }
    }
    if !reader.fill_buf()?.is_empty() {
        builder.unread += 1;
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use plumbline_core::timeline::TimelineKind;

    use super::*;

    fn line(text: &str) -> Vec<u8> {
        TimelineEntry::new(Timestamp::UNIX_EPOCH, TimelineKind::Warning, "Failed", text).to_line()
    }

    #[test]
    fn entries_are_read_around_anything_else() {
        let long = vec![b'x'; 5 * MAX_LINE];
        let long_entry = line(&"é".repeat(300));
        let parts: [&[u8]; 9] = [
            &line("one"),
            b"\n",
            b"not json\n",
            &long,
            b"\n",
            &long_entry,
            b"\xff\0\n",
            &line("two"),
            b"{\"time\":\"2026",
        ];
        let timeline = read_from(parts.concat().as_slice()).unwrap();
        let texts: Vec<&str> = timeline.spans.iter().map(|span| span.text.as_str()).collect();
        assert_eq!((texts.len(), texts[0], texts[2]), (3, "one", "two"));
        assert_eq!(timeline.unread, 4);
    }

    #[test]
    fn a_file_above_the_limits_is_read_up_to_them() {
        let many = line("x").repeat(TIMELINE_ENTRIES + 1);
        let timeline = read_from(many.as_slice()).unwrap();
        assert_eq!((timeline.spans.len(), timeline.unread), (TIMELINE_ENTRIES, 1));
        let endless = read_from(io::repeat(b'x')).unwrap();
        assert_eq!((endless.spans.len(), endless.unread), (0, 1));
        let breaks = read_from(io::repeat(b'\n')).unwrap();
        assert_eq!((breaks.spans.len(), breaks.unread), (0, 1));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("damaged"))
            }
        }
        assert!(read_from(Broken).is_err());
    }
}

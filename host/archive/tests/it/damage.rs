//! Tests that damaged or truncated archives are never accepted as complete.

use std::io::{self, Read};

use plumbline_archive::extract::{Blame, ExtractError, ExtractLimits, extract_tar_gz};
use plumbline_archive::member::{Layer, StreamError};

use crate::make::*;

fn sample() -> Tar {
    Tar::new().dir("d").file("d/a", b"some text, some text").file("b", &[7; 600])
}

#[test]
fn a_stream_cut_anywhere_is_refused() {
    let whole = sample().gz();
    for cut in 0..whole.len() {
        let error = extract(&whole[..cut]).unwrap_err();
        if cut == 0 {
            assert!(matches!(error, ExtractError::Stream(StreamError::NotGzip)), "{error}");
        } else {
            let truncated = matches!(error, ExtractError::Stream(StreamError::Truncated { layer: Layer::Gzip, .. }));
            assert!(truncated, "cut at {cut}: {error}");
        }
        assert_eq!(error.blame(), Blame::Archive);
    }
}

#[test]
fn an_archive_cut_anywhere_in_a_whole_stream_is_refused() {
    let whole = sample();
    let end = whole.0.len();
    let whole = whole.end();
    for cut in 0..end + 512 {
        assert!(extract(&gz(&whole.0[..cut])).is_err(), "cut at {cut}");
    }
    let error = extract(&gz(&whole.0[..end])).unwrap_err();
    assert_eq!(error.to_string(), "the tar stream ends early, after 3 whole members");
    // Some tools write one block of zeros instead of two.
    assert_eq!(extract(&gz(&whole.0[..end + 512])).unwrap().0.files, 2);
}

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    let whole = sample().gz();
    let want = extract(&whole).unwrap().1;
    for at in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        if let Ok((_, tree)) = extract(&damaged) {
            // The bit is in an unverified field of the gzip header, or the changed code decodes to
            // the same bytes.
            assert!(tree == want, "bit {at}");
        }
    }
}

#[test]
fn data_after_the_end_is_counted_and_not_unpacked() {
    let second = Tar::new().file("second", b"x").end();
    let first = sample().end();
    // Two archives in one stream (`cat a.tar b.tar | gzip`), two streams (`cat a.tar.gz b.tar.gz`),
    // and garbage.
    let one_stream = gz(&[first.0.as_slice(), &second.0].concat());
    let two_streams = [gz(&first.0), gz(&second.0)].concat();
    for archive in [one_stream, two_streams] {
        let (extracted, tree) = extract(&archive).unwrap();
        assert!(extracted.trailing > 0);
        assert!(!tree.contains_key("second"));
    }
    let garbage = [gz(&first.0), b"garbage".to_vec()].concat();
    assert_eq!(extract(&garbage).unwrap().0.trailing, 7);
    let padding = [gz(&first.0), vec![0; 10_240]].concat();
    assert_eq!(extract(&padding).unwrap().0.trailing, 0);
}

#[test]
fn gzip_members_join_anywhere() {
    let tar = sample().end().0;
    let want = extract(&gz(&tar)).unwrap();
    for at in (0..tar.len()).step_by(97) {
        let (a, b) = tar.split_at(at);
        assert_eq!(extract(&[gz(a), gz(b)].concat()).unwrap(), want, "split at {at}");
    }
}

#[test]
fn other_formats_say_so() {
    for (data, want) in [
        (b"PK\x03\x04 a zip".to_vec(), "not a gzip stream"),
        (sample().end().0, "not a gzip stream"),
        (b"".to_vec(), "not a gzip stream"),
        (gz(b"just text, not long enough for a header"), "the gzip stream has no tar archive"),
        (gz(&b"text as long as several headers ".repeat(100)), "the gzip stream has no tar archive"),
    ] {
        let error = extract(&data).unwrap_err();
        assert!(error.to_string().starts_with(want), "{error}");
        assert_eq!(error.blame(), Blame::Archive);
    }
}

/// A reader that fails like a lost connection.
struct Lost<R>(R);

impl<R: Read> Read for Lost<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            read => Ok(read),
        }
    }
}

#[test]
fn a_lost_connection_is_not_the_archives_fault() {
    let whole = sample().gz();
    for cut in 0..=whole.len() {
        let place = Destination::new();
        let error = extract_tar_gz(Lost(&whole[..cut]), &place.dest(), &ExtractLimits::default()).unwrap_err();
        assert_eq!(error.blame(), Blame::Transport, "cut at {cut}: {error}");
    }
}

#[test]
fn a_destination_that_is_not_there_is_our_fault() {
    let place = Destination::new();
    let gone = place.dest().join("gone");
    let error = extract_tar_gz(sample().gz().as_slice(), &gone, &ExtractLimits::default()).unwrap_err();
    assert_eq!(error.blame(), Blame::Host);
    assert!(error.to_string().contains("gone"), "{error}");
}

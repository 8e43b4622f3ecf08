//! The attributes of a suite or test case.

use crate::options::Options;
use crate::seconds::Seconds;
use crate::tag::{Tag, same};
use crate::text::value;

/// Bytes of a name, and of all other attributes together: 1 MiB.
const MAX_HEADING: usize = 1 << 20;

/// Bytes of a class name: no name in the wild comes near.
const MAX_CLASS: usize = 4 << 10;

/// How a test case ended, as far as its attribute `status` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// GoogleTest's `notrun`: the test is disabled.
    NotRun,
    /// One of the words for a failure.
    Failed,
}

impl Outcome {
    fn read(status: &[u8]) -> Option<Self> {
        const FAILED: [&[u8]; 8] =
            [b"failed", b"failure", b"fail", b"error", b"panicked", b"timedout", b"aborted", b"interrupted"];
        if status.eq_ignore_ascii_case(b"notrun") {
            return Some(Self::NotRun);
        }
        FAILED.iter().any(|word| status.eq_ignore_ascii_case(word)).then_some(Self::Failed)
    }
}

/// The attributes that matter.
#[derive(Debug, Default)]
pub(crate) struct Heading {
    /// `name`; empty when there is none.
    pub(crate) name: String,
    /// `classname` of a test case.
    pub(crate) class: String,
    /// Attributes that the options ask for.
    pub(crate) kept: Vec<(String, String)>,
    /// `time` of a test case.
    pub(crate) duration: Option<Seconds>,
    /// `status` of a test case.
    pub(crate) outcome: Option<Outcome>,
}

impl Heading {
    /// Reads the tag of a suite. Skips what cannot be read as an attribute.
    pub(crate) fn of_suite(tag: &Tag<'_>, options: &Options) -> Self {
        Self::read(tag, options, false)
    }

    /// Reads the tag of a test case in the same way.
    pub(crate) fn of_case(tag: &Tag<'_>, options: &Options) -> Self {
        Self::read(tag, options, true)
    }

    fn read(tag: &Tag<'_>, options: &Options, case: bool) -> Self {
        let mut heading = Self::default();
        let mut room = MAX_HEADING;
        for (key, raw) in tag.attributes() {
            match key {
                key if same(key, b"name") => {
                    heading.name = value(&raw, MAX_HEADING).into_owned();
                    continue;
                }
                key if case && same(key, b"time") => heading.duration = Seconds::read(&raw),
                key if case && same(key, b"classname") => heading.class = value(&raw, MAX_CLASS).into_owned(),
                key if case && same(key, b"status") => heading.outcome = Outcome::read(&raw),
                _ => {}
            }
            if options.keeps(key) {
                let key = String::from_utf8_lossy(key).into_owned();
                let text = value(&raw, room).into_owned();
                room = room.saturating_sub(text.len());
                // XML allows an attribute once. Where it is repeated all the same, the last one counts.
                match heading.kept.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, earlier)) => *earlier = text,
                    None => heading.kept.push((key, text)),
                }
            }
        }
        heading
    }
}

//! The attributes of a suite or test case, and the options that keep them.

use plumbline_sdk::Status;
use serde::Deserialize;

use crate::seconds::Seconds;
use crate::tag::{Tag, same_in_any_case as same};
use crate::text::value;

/// Maximum number of names in `keep`, because each one is compared with every attribute of every
/// test case.
const MAX_KEEP: usize = 64;

/// The word in `keep` for the element of that name.
const PROPERTIES: &str = "properties";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    keep: Vec<String>,
}

impl Options {
    /// Returns the options after checking their limits.
    pub(crate) fn checked(self) -> Result<Self, String> {
        if self.keep.len() > MAX_KEEP {
            return Err(format!(
                "the module's option `keep` has {} names: at most {MAX_KEEP} are possible",
                self.keep.len()
            ));
        }
        Ok(self)
    }

    /// Returns whether to keep the attribute with this name.
    pub(crate) fn keeps(&self, attribute: &[u8]) -> bool {
        self.keep.iter().any(|name| name.as_bytes() == attribute)
    }

    /// Returns whether to keep properties.
    pub(crate) fn keeps_properties(&self) -> bool {
        self.keeps(PROPERTIES.as_bytes())
    }
}

/// Maximum size in bytes of a name, and of all other attributes together: 1 MiB.
const MAX_HEADING: usize = 1 << 20;

/// Maximum size in bytes of a class name: far more than real ones have.
const MAX_CLASS: usize = 4 << 10;

/// The outcome of a test case according to its attributes `status` and `result`. Of two values, the
/// greater one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The word `unknown`.
    Unknown,
    /// One of the words for a test that did not run, such as GoogleTest's `notrun`.
    NotRun,
    /// One of the words for a failure.
    Failed,
}

impl Outcome {
    /// Reads a value in any case, with or without separators: `TimedOut` is `timed out`.
    fn read(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        match Status::from(text).meaning() {
            Status::Failed | Status::Timeout => Some(Self::Failed),
            Status::Skipped => Some(Self::NotRun),
            // An empty value says nothing.
            Status::Unknown if !text.trim().is_empty() => Some(Self::Unknown),
            Status::Passed | Status::Unknown | Status::Custom(_) => None,
        }
    }
}

/// The attributes that the module uses.
#[derive(Debug, Default)]
pub(crate) struct Heading {
    /// The attribute `name`; empty if missing.
    pub(crate) name: String,
    /// The attribute `classname` of a test case.
    pub(crate) class: String,
    /// The attributes that the options ask for.
    pub(crate) kept: Vec<(String, String)>,
    /// The attribute `time` of a test case.
    pub(crate) duration: Option<Seconds>,
    /// The attributes `status` and `result` of a test case.
    pub(crate) outcome: Option<Outcome>,
}

impl Heading {
    /// Reads the tag of a test case, or else of a suite. Malformed attributes are skipped.
    pub(crate) fn read(tag: &Tag<'_>, options: &Options, case: bool) -> Self {
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
                key if case && (same(key, b"status") || same(key, b"result")) => {
                    heading.outcome = heading.outcome.max(Outcome::read(&raw));
                }
                _ => {}
            }
            if options.keeps(key) {
                let key = String::from_utf8_lossy(key).into_owned();
                let text = value(&raw, room).into_owned();
                room = room.saturating_sub(text.len());
                // XML does not allow duplicate attributes. If there are any, the last one wins.
                match heading.kept.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, earlier)) => *earlier = text,
                    None => heading.kept.push((key, text)),
                }
            }
        }
        heading
    }
}

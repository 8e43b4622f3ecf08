//! What stands in the tag of a suite or test case.

use crate::options::Options;
use crate::seconds::Seconds;
use crate::tag::{Tag, same};
use crate::text::value;

/// Bytes that are kept of a name, and of all other attributes together: 1 MiB.
const MAX_HEADING: usize = 1 << 20;

/// The attributes that matter.
#[derive(Debug, Default)]
pub(crate) struct Heading {
    /// `name`; empty when there is none.
    pub(crate) name: String,
    /// `classname`; only read where there is no name.
    pub(crate) class: String,
    /// What the options ask for.
    pub(crate) kept: Vec<(String, String)>,
    /// `time` of a test case.
    pub(crate) duration: Option<Seconds>,
}

impl Heading {
    /// Reads the tag of a suite. What cannot be read as attributes is passed over.
    pub(crate) fn of_suite(tag: &Tag<'_>, options: &Options) -> Self {
        Self::read(tag, options, false)
    }

    /// Reads the tag of a test case, in the same way.
    pub(crate) fn of_case(tag: &Tag<'_>, options: &Options) -> Self {
        Self::read(tag, options, true)
    }

    fn read(tag: &Tag<'_>, options: &Options, timed: bool) -> Self {
        let mut heading = Self::default();
        let mut needs_time = timed;
        let mut room = MAX_HEADING;
        let mut class = None;
        for (key, raw) in tag.attributes() {
            match key {
                key if same(key, b"name") => {
                    heading.name = value(&raw, MAX_HEADING).into_owned();
                }
                key if timed && same(key, b"time") => {
                    heading.duration = Seconds::read(&raw);
                    needs_time = false;
                }
                b"classname" => class = Some(raw.clone()),
                _ => {}
            }
            // The usual case: nothing else is asked for, so nothing else is read.
            if !needs_time && options.keeps_nothing() && !heading.name.is_empty() {
                return heading;
            }
            if options.keeps(key) && !same(key, b"name") {
                let key = String::from_utf8_lossy(key).into_owned();
                let text = value(&raw, room).into_owned();
                room = room.saturating_sub(text.len());
                // An attribute may stand once; where it is repeated all the same, a tag must not make more entries than there are names.
                match heading.kept.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, earlier)) => *earlier = text,
                    None => heading.kept.push((key, text)),
                }
            }
        }
        if heading.name.is_empty()
            && let Some(class) = class
        {
            heading.class = value(&class, MAX_HEADING).into_owned();
        }
        heading
    }
}

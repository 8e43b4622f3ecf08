//! A test case while its element is open.

use plumbline_sdk::{Item, Status};
use serde_json::Value;

use crate::heading::{Heading, Outcome};
use crate::seconds::Seconds;
use crate::tag::same;
use crate::text::{MAX_TEXT, Text, value};

/// Maximum size in bytes of all texts of one item: 12 MiB. With its name, an item then stays below
/// the host's 16 MiB.
pub const MAX_ITEM_TEXT: usize = 12 << 20;

/// An element of a test case whose text is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Skipped,
    Failure,
    Error,
    SystemOut,
    SystemErr,
    /// An element that does not affect the outcome: one of Surefire's records of further attempts,
    /// or a warning of PHPUnit. Holds its name.
    Note(&'static str),
}

impl Part {
    /// Returns the part for an element with this name, in lower case.
    pub(crate) fn of(element: &[u8]) -> Option<Self> {
        Some(match element {
            // Check this name first, because nearly all elements have it.
            name if same(name, b"skipped") => Self::Skipped,
            b"failure" => Self::Failure,
            b"error" => Self::Error,
            b"system-out" => Self::SystemOut,
            b"system-err" => Self::SystemErr,
            b"rerunfailure" => Self::Note("rerunFailure"),
            b"rerunerror" => Self::Note("rerunError"),
            b"flakyfailure" => Self::Note("flakyFailure"),
            b"flakyerror" => Self::Note("flakyError"),
            b"warning" => Self::Note("warning"),
            _ => return None,
        })
    }

    /// Returns the key in the details.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Failure => "failure",
            Self::Error => "error",
            Self::SystemOut => "system-out",
            Self::SystemErr => "system-err",
            Self::Note(key) => key,
        }
    }

    /// Returns the key in the details for a message next to a body.
    fn message_key(self) -> Option<&'static str> {
        match self {
            Self::Failure => Some("failure-message"),
            Self::Error => Some("error-message"),
            _ => None,
        }
    }

    /// Returns whether the element reports a failed attempt, even if a later attempt passed.
    fn is_failed_attempt(self) -> bool {
        match self {
            Self::Failure | Self::Error => true,
            Self::Note(key) => key != "warning",
            Self::Skipped | Self::SystemOut | Self::SystemErr => false,
        }
    }

    /// Returns whether the element's attribute `message` belongs to its text.
    fn has_message(self) -> bool {
        !matches!(self, Self::SystemOut | Self::SystemErr)
    }
}

/// The bare word that Ginkgo writes for each of thousands of tests. It is not a reason.
const BARE: &str = "skipped";

/// Maximum number of bytes of a message that is kept as a separate detail: 64 KiB. The detail with
/// message and body has the rest.
const MAX_MESSAGE: usize = 64 << 10;

/// The text of a part while its element is open.
#[derive(Debug)]
struct OpenPart {
    part: Part,
    has_message: bool,
    /// The message of a failure or error.
    message: String,
    /// Whether the message is [`BARE`] and nothing has followed it. It is not in `text` yet.
    bare: bool,
    text: Text,
}

impl OpenPart {
    fn new(part: Part, message: &[u8], room: usize) -> Self {
        let bare = part == Part::Skipped && message == BARE.as_bytes();
        let own = part.message_key().map(|_| value(message, MAX_MESSAGE.min(room)).trim().to_owned());
        let mut open = Self {
            part,
            has_message: !message.is_empty(),
            message: own.unwrap_or_default(),
            bare,
            text: Text::new(room),
        };
        if !bare {
            open.push_message(message);
        }
        open
    }

    fn push_message(&mut self, message: &[u8]) {
        self.text.push_value(message);
        if self.part.has_message() {
            self.text.push(b" ");
        }
    }

    /// Returns the text to append to.
    fn text(&mut self) -> &mut Text {
        if self.bare {
            self.bare = false;
            self.push_message(BARE.as_bytes());
        }
        &mut self.text
    }
}

/// The metadata key of a test case's class.
pub(crate) const CLASS: &str = "classname";

/// A test case while its element is open.
#[derive(Debug, Default)]
pub(crate) struct Case {
    name: String,
    class: String,
    skipped: bool,
    failed: bool,
    /// Whether the attribute `status` says that it did not run.
    not_run: bool,
    /// The number of elements that report a failed attempt.
    failed_attempts: u64,
    texts: Vec<(String, String)>,
    properties: Option<Value>,
    duration: Option<Seconds>,
    open: Option<OpenPart>,
    kept: usize,
    /// The number of texts that did not fit.
    left_out: u64,
}

impl Case {
    /// Creates a test case with this heading. Without a name, it has the name of its class. `used`
    /// is the number of bytes of [`MAX_ITEM_TEXT`] that the test cases around it already use.
    pub(crate) fn new(heading: Heading, used: usize) -> Self {
        let Heading { name, class, kept: texts, duration, outcome } = heading;
        let (name, class) = if name.is_empty() { (class, String::new()) } else { (name, class) };
        let kept = used + texts.iter().map(|(_, text)| text.len()).sum::<usize>();
        let mut case = Self { name, class, texts, kept, duration, ..Self::default() };
        case.not_run = outcome == Some(Outcome::NotRun);
        case.failed = outcome == Some(Outcome::Failed);
        case
    }

    /// Creates a test case for elements outside of any test case.
    pub(crate) fn loose(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Returns the number of bytes of [`MAX_ITEM_TEXT`] that this test case and those around it
    /// use.
    pub(crate) fn used(&self) -> usize {
        self.kept
    }

    /// Returns the number of elements that report a failed attempt.
    pub(crate) fn failed_attempts(&self) -> u64 {
        self.failed_attempts
    }

    /// Sets the properties, which are an object.
    pub(crate) fn set_properties(&mut self, properties: Value) {
        self.properties = Some(properties);
    }

    /// Handles the start of a part's element. `message` is the attribute of that name, as in the
    /// file.
    pub(crate) fn open_part(&mut self, part: Part, message: Option<&[u8]>) {
        match part {
            Part::Skipped => self.skipped = true,
            Part::Failure | Part::Error => self.failed = true,
            Part::SystemOut | Part::SystemErr | Part::Note(_) => {}
        }
        self.failed_attempts = self.failed_attempts.saturating_add(u64::from(part.is_failed_attempt()));
        let message = message.filter(|_| part.has_message()).unwrap_or_default();
        self.open = Some(OpenPart::new(part, message, MAX_TEXT.min(MAX_ITEM_TEXT.saturating_sub(self.kept))));
    }

    /// Returns the text of the open part.
    pub(crate) fn text(&mut self) -> Option<&mut Text> {
        self.open.as_mut().map(OpenPart::text)
    }

    /// Handles the end of a part's element.
    pub(crate) fn close_part(&mut self) {
        let Some(OpenPart { part, has_message, message, bare, text }) = self.open.take() else { return };
        if bare {
            return;
        }
        let empty = if part.has_message() { !has_message && text.total() <= 1 } else { text.total() == 0 };
        if empty {
            return;
        }
        let mut text = text.into_string();
        if part.has_message() {
            text = trimmed(text);
        }
        if part == Part::Skipped && (text.is_empty() || text.eq_ignore_ascii_case(BARE)) {
            return;
        }
        if self.kept >= MAX_ITEM_TEXT {
            self.left_out += 1;
            return;
        }
        // Add one byte for the line break between two texts.
        self.kept += text.len() + 1;
        // Only if the body adds something to the message. If there are several elements, the
        // message of the first one is used.
        if let Some(key) = part.message_key()
            && !message.is_empty()
            && text.len() > message.len()
            && self.texts.iter().all(|(known, _)| known != part.key())
        {
            self.kept += message.len();
            self.texts.push((key.to_owned(), message));
        }
        match self.texts.iter_mut().find(|(key, _)| key == part.key()) {
            Some((_, earlier)) if earlier.is_empty() => *earlier = text,
            Some(_) if text.is_empty() => {}
            Some((_, earlier)) => {
                earlier.push('\n');
                earlier.push_str(&text);
            }
            None => self.texts.push((part.key().to_owned(), text)),
        }
    }

    /// Returns the item of a test case whose element has ended.
    pub(crate) fn into_item(mut self) -> Item {
        if self.failed && !self.skipped && self.failed_attempts == 0 {
            let reason = "the attribute `status` says that the test case failed, but no failure is reported";
            self.texts.push((Part::Failure.key().to_owned(), reason.to_owned()));
        }
        self.skip_if_not_run();
        let status = if self.skipped {
            Status::Skipped
        } else if self.failed {
            Status::Failed
        } else {
            Status::Passed
        };
        self.into_item_with(status)
    }

    /// Applies the attribute `status`. An element that reports a failure takes precedence.
    fn skip_if_not_run(&mut self) {
        self.skipped |= self.not_run && !self.failed;
    }

    /// Returns the item of a test case that is truncated by the end of the file. It cannot have
    /// passed.
    pub(crate) fn into_unfinished_item(mut self) -> Item {
        self.close_part();
        self.skip_if_not_run();
        let status = if self.skipped {
            Status::Skipped
        } else if self.failed {
            Status::Failed
        } else {
            Status::Unknown
        };
        self.into_item_with(status).meta("error", "the file ends within this test case")
    }

    fn into_item_with(self, status: Status) -> Item {
        let mut item = Item::new(0, self.name).status(status);
        if !self.class.is_empty() && self.class != item.name {
            item = item.meta(CLASS, self.class);
        }
        // A skipped test has no duration, whatever the file says. Thousands of zeros would only
        // hide the others.
        if let Some(duration) = self.duration.filter(|_| !self.skipped) {
            item = item.meta("duration", duration.to_text());
        }
        for (key, text) in self.texts {
            item = item.text(key, text);
        }
        if let Some(properties) = &self.properties {
            item = item.json("properties", properties);
        }
        if self.left_out > 0 {
            item = item.text(
                "cut",
                format!("{} further texts are left out: an item may have {MAX_ITEM_TEXT} bytes", self.left_out),
            );
        }
        item
    }
}

fn trimmed(text: String) -> String {
    let kept = text.trim();
    if kept.len() == text.len() { text } else { kept.to_owned() }
}

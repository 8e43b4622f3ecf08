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

    /// Returns whether the element reports a further attempt, which failed.
    fn is_retry(self) -> bool {
        matches!(self, Self::Note(key) if key != "warning")
    }

    /// Returns whether the element's attribute `message` belongs to its text.
    fn has_message(self) -> bool {
        !matches!(self, Self::SystemOut | Self::SystemErr)
    }
}

/// The bare word that Ginkgo writes for each of thousands of tests. It is not a reason.
const BARE: &str = "skipped";

/// The message that Catch2 writes for a test with `[!mayfail]` or `[!shouldfail]`, next to its
/// failed assertions. They do not make the test fail.
const MAY_FAIL: &[u8] = b"TEST_CASE tagged with !mayfail";

/// The reason of a failed test case without a failure.
const NO_FAILURE: &str = "an attribute says that the test case failed, but no failure is reported";

/// The reason of a test case whose outcome is unknown to the tool.
const STATED_UNKNOWN: &str = "an attribute says that the outcome is unknown";

/// The reason of a test case that has only a duration. pytest writes one for the test that was
/// running when it was interrupted.
const NO_NAME: &str = "a test case without a name and without an outcome: the run was interrupted";

/// The reason of a test case that passed according to a dry run.
const DRY_RUN: &str = "the test did not run: the report is of a dry run";

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
    /// Whether a failure is allowed, as [`MAY_FAIL`] says.
    may_fail: bool,
    /// The outcome that an attribute states.
    stated: Option<Outcome>,
    /// The number of elements that report a failure.
    pub(crate) failures: u64,
    /// The number of elements that report a further attempt.
    pub(crate) retries: u64,
    texts: Vec<(String, String)>,
    /// An object.
    pub(crate) properties: Option<Value>,
    duration: Option<Seconds>,
    open: Option<OpenPart>,
    /// The number of bytes of [`MAX_ITEM_TEXT`] that this test case and those around it use.
    pub(crate) kept: usize,
    /// The number of texts that did not fit.
    left_out: u64,
}

impl Case {
    /// Creates a test case with this heading. Without a name, it has the name of its class. `used`
    /// is the number of bytes of [`MAX_ITEM_TEXT`] that the test cases around it already use.
    pub(crate) fn new(heading: Heading, used: usize) -> Self {
        let Heading { name, class, kept: texts, duration, outcome: stated } = heading;
        let (name, class) = if name.is_empty() { (class, String::new()) } else { (name, class) };
        let kept = used + texts.iter().map(|(_, text)| text.len()).sum::<usize>();
        Self { name, class, texts, kept, duration, stated, ..Self::default() }
    }

    /// Creates a test case for elements outside of any test case.
    pub(crate) fn loose(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Returns the open part.
    pub(crate) fn opened(&self) -> Option<Part> {
        self.open.as_ref().map(|open| open.part)
    }

    /// Handles the start of a part's element. `message` is the attribute of that name, as in the
    /// file.
    pub(crate) fn open_part(&mut self, part: Part, message: Option<&[u8]>) {
        match part {
            Part::Skipped => {
                self.skipped = true;
                self.may_fail |= message == Some(MAY_FAIL);
            }
            Part::Failure | Part::Error => self.failures = self.failures.saturating_add(1),
            Part::SystemOut | Part::SystemErr | Part::Note(_) => {}
        }
        self.retries = self.retries.saturating_add(u64::from(part.is_retry()));
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

    /// Returns the status according to the elements and attributes. A failure takes precedence over
    /// `skipped`: pytest writes both if a test was skipped and its teardown failed.
    fn status(&self) -> Status {
        let has_failed = self.failures > 0 && !self.may_fail;
        if has_failed || self.stated == Some(Outcome::Failed) {
            Status::Failed
        } else if self.skipped || self.stated == Some(Outcome::NotRun) {
            Status::Skipped
        } else if self.stated == Some(Outcome::Unknown) {
            Status::Unknown
        } else {
            Status::Passed
        }
    }

    /// Marks a test case of a dry run, unless it has another outcome than `passed`.
    pub(crate) fn set_not_run(&mut self) {
        if self.status() == Status::Passed {
            self.skipped = true;
            self.texts.push((Part::Skipped.key().to_owned(), DRY_RUN.to_owned()));
        }
    }

    /// Returns the item of a test case whose element has ended.
    pub(crate) fn into_item(mut self) -> Item {
        let status = self.status();
        if status == Status::Failed && self.failures == 0 {
            self.texts.push((Part::Failure.key().to_owned(), NO_FAILURE.to_owned()));
        }
        if status == Status::Unknown {
            return self.into_item_with(status).meta("error", STATED_UNKNOWN);
        }
        if status == Status::Passed && self.name.trim().is_empty() && self.class.trim().is_empty() {
            return self.into_item_with(Status::Unknown).meta("error", NO_NAME);
        }
        self.into_item_with(status)
    }

    /// Returns the item of a test case that is truncated by the end of the file. It cannot have
    /// passed.
    pub(crate) fn into_unfinished_item(mut self) -> Item {
        self.close_part();
        let status = match self.status() {
            Status::Passed => Status::Unknown,
            status => status,
        };
        self.into_item_with(status).meta("error", "the file ends within this test case")
    }

    fn into_item_with(self, status: Status) -> Item {
        let was_skipped = status == Status::Skipped;
        let mut item = Item::new(0, self.name).status(status);
        if !self.class.is_empty() && self.class != item.name {
            item = item.meta(CLASS, self.class);
        }
        // A skipped test has no duration, whatever the file says. Thousands of zeros would only
        // hide the others.
        if let Some(duration) = self.duration.filter(|_| !was_skipped) {
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

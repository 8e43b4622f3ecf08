//! A test case while it is open.

use plumbline_sdk::{Item, Status};
use serde_json::Value;

use crate::heading::Heading;
use crate::seconds::Seconds;
use crate::tag::same;
use crate::text::{MAX_TEXT, Text};

/// Bytes that are kept of all texts of one item together: 12 MiB, so that with its name an item stays below the host's 16 MiB.
pub const MAX_ITEM_TEXT: usize = 12 << 20;

/// An element of a test case whose text is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Skipped,
    Failure,
    Error,
    SystemOut,
    SystemErr,
    /// Says nothing of how the test case ended: one of Surefire's records of further attempts, or PHPUnit's warnings; by its name.
    Note(&'static str),
}

impl Part {
    /// The part that the element of that name is.
    pub(crate) fn of(element: &[u8]) -> Option<Self> {
        Some(match element {
            // First, because nearly all are.
            name if same(name, b"skipped") => Self::Skipped,
            b"failure" => Self::Failure,
            b"error" => Self::Error,
            b"system-out" => Self::SystemOut,
            b"system-err" => Self::SystemErr,
            b"rerunFailure" => Self::Note("rerunFailure"),
            b"rerunError" => Self::Note("rerunError"),
            b"flakyFailure" => Self::Note("flakyFailure"),
            b"flakyError" => Self::Note("flakyError"),
            b"warning" => Self::Note("warning"),
            _ => return None,
        })
    }

    /// The key in the details.
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

    /// Whether the element has an attribute `message` that belongs to its text.
    fn has_message(self) -> bool {
        !matches!(self, Self::SystemOut | Self::SystemErr)
    }
}

/// The bare word, as Ginkgo writes it for each of thousands of tests. It is no reason.
const BARE: &str = "skipped";

/// The text of a part while it is open.
#[derive(Debug)]
struct OpenPart {
    part: Part,
    has_message: bool,
    /// The message is [`BARE`], and nothing has come after it: it is not in `text` yet.
    bare: bool,
    text: Text,
}

impl OpenPart {
    fn new(part: Part, message: &[u8], room: usize) -> Self {
        let bare = part == Part::Skipped && message == BARE.as_bytes();
        let mut open = Self { part, has_message: !message.is_empty(), bare, text: Text::new(room) };
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

    /// Where characters go.
    fn text(&mut self) -> &mut Text {
        if self.bare {
            self.bare = false;
            self.push_message(BARE.as_bytes());
        }
        &mut self.text
    }
}

/// A test case while it is open.
#[derive(Debug, Default)]
pub(crate) struct Case {
    name: String,
    skipped: bool,
    failed: bool,
    texts: Vec<(String, String)>,
    properties: Option<Value>,
    duration: Option<Seconds>,
    open: Option<OpenPart>,
    kept: usize,
    /// Texts that came when the item was full.
    left_out: u64,
}

impl Case {
    /// A test case with that heading. Without a name it takes the one of its class.
    pub(crate) fn new(heading: Heading) -> Self {
        let name = if heading.name.is_empty() { heading.class } else { heading.name };
        let kept = heading.kept.iter().map(|(_, text)| text.len()).sum();
        Self { name, texts: heading.kept, kept, duration: heading.duration, ..Self::default() }
    }

    /// A test case for what stands outside of any.
    pub(crate) fn loose(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds the properties, an object.
    pub(crate) fn set_properties(&mut self, properties: Value) {
        self.properties = Some(properties);
    }

    /// The element of a part begins; `message` is that attribute as it stands in the file.
    pub(crate) fn open_part(&mut self, part: Part, message: Option<&[u8]>) {
        match part {
            Part::Skipped => self.skipped = true,
            Part::Failure | Part::Error => self.failed = true,
            Part::SystemOut | Part::SystemErr | Part::Note(_) => {}
        }
        let message = message.filter(|_| part.has_message()).unwrap_or_default();
        self.open = Some(OpenPart::new(part, message, MAX_TEXT.min(MAX_ITEM_TEXT.saturating_sub(self.kept))));
    }

    /// The text of the part that is open.
    pub(crate) fn text(&mut self) -> Option<&mut Text> {
        self.open.as_mut().map(OpenPart::text)
    }

    /// The element of the part ends.
    pub(crate) fn close_part(&mut self) {
        let Some(OpenPart { part, has_message, bare, text }) = self.open.take() else { return };
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
        // One more for the line end between two.
        self.kept += text.len() + 1;
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

    /// The item of the test case, whose element has ended.
    pub(crate) fn into_item(self) -> Item {
        let status = if self.skipped {
            Status::Skipped
        } else if self.failed {
            Status::Failed
        } else {
            Status::Passed
        };
        self.into_item_with(status)
    }

    /// The item of a test case that the end of the file cuts off: it cannot have passed.
    pub(crate) fn into_unfinished_item(mut self) -> Item {
        self.close_part();
        let status = if self.skipped {
            Status::Skipped
        } else if self.failed {
            Status::Failed
        } else {
            Status::Unknown
        };
        self.into_item_with(status).meta("error", "the file breaks off within this test case")
    }

    fn into_item_with(self, status: Status) -> Item {
        let mut item = Item::new(0, self.name).status(status);
        // What did not run took no time, whatever is written: thousands of zeros would only hide what did.
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

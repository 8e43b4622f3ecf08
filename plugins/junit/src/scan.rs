//! Converts the pieces of a file to XML events.
//!
//! quick-xml parses a slice without copying, but needs all of it, while a file arrives in pieces.
//! The scanner therefore keeps a window. It parses complete markup in place, and incomplete markup
//! at the end waits for the next piece. Text and CDATA may be arbitrarily long, so they are passed
//! on as they arrive. Comments and processing instructions are skipped in the same way. The window
//! therefore never holds more than one piece and one tag.
//!
//! Plain markup, which is nearly all of it, is read by [`crate::plain`]. Creating a quick-xml
//! reader per event costs more than the event itself.

use std::io::BufRead;

use memchr::{memchr2, memmem};
use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::Event;

use crate::encoding::Utf8;
use crate::plain::{self, MAX_ATTRIBUTES, Markup};
use crate::tag::{Attribute, Tag};
use crate::text::MAX_REFERENCE;

/// Maximum size in bytes of one tag with all its attributes: 8 MiB. Some tools write whole logs
/// into the attribute `message`.
pub const MAX_TAG: usize = 8 << 20;

/// A receiver of events. Names and values are passed as in the file, converted to UTF-8. An error
/// is a sentence, and stops reading the file.
pub(crate) trait Handler {
    /// Handles a tag that opens an element. If the tag also closes it, [`Handler::end`] follows.
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), String>;
    /// Handles the end of the element with this name.
    fn end(&mut self, name: &[u8]) -> Result<(), String>;
    /// Handles characters of text or CDATA. A run of them may arrive in several calls.
    fn text(&mut self, raw: &[u8]);
    /// Handles a reference; `name` is the text between `&` and `;`.
    fn reference(&mut self, name: &[u8]);
    /// Handles the end of the file.
    fn end_of_file(&mut self) -> Result<(), String>;
}

/// Markup that started in an earlier window, and extends to its closing mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    CData,
    Comment,
    Instruction,
}

impl Long {
    /// Returns the kind of markup that `rest` starts with.
    fn begun(rest: &[u8]) -> Option<Self> {
        [Self::CData, Self::Comment, Self::Instruction].into_iter().find(|long| rest.starts_with(long.opening()))
    }

    fn opening(self) -> &'static [u8] {
        match self {
            Self::CData => b"<![CDATA[",
            Self::Comment => b"<!--",
            Self::Instruction => b"<?",
        }
    }

    fn closing(self) -> &'static str {
        match self {
            Self::CData => "]]>",
            Self::Comment => "-->",
            Self::Instruction => "?>",
        }
    }
}

/// Why reading a window ended.
enum Ended {
    /// The rest is incomplete or empty.
    Incomplete,
    /// Long markup has started, and its opening mark is consumed.
    Long(Long),
}

/// A reader of one file.
pub(crate) struct Scanner<R> {
    source: Utf8<R>,
    window: Vec<u8>,
    long: Option<Long>,
    /// The number of bytes of the file (as UTF-8) before the window.
    offset: u64,
}

impl<R: BufRead> Scanner<R> {
    pub(crate) fn new(source: Utf8<R>) -> Self {
        Self { source, window: Vec::new(), long: None, offset: 0 }
    }

    /// Passes the events of the file to `handler`. The error is a sentence with the problem and its
    /// position.
    pub(crate) fn run(&mut self, handler: &mut impl Handler) -> Result<(), String> {
        loop {
            let more = self.source.fill(&mut self.window)?;
            let mut used = 0;
            let outcome = read_window(&self.window, &mut used, &mut self.long, !more, handler);
            self.offset = self.offset.saturating_add(used as u64);
            let outcome = outcome.and_then(|()| {
                self.window.drain(..used);
                if !more {
                    return handler.end_of_file();
                }
                if self.window.len() > MAX_TAG {
                    return Err(format!("a tag is longer than {MAX_TAG} bytes"));
                }
                Ok(())
            });
            match outcome {
                Ok(()) if more => {}
                Ok(()) => return Ok(()),
                Err(problem) => return Err(format!("{problem}, at byte {}", self.offset)),
            }
        }
    }
}

/// Reads everything that is complete in `window`. `used` receives the start of the rest, or the
/// position of an error.
fn read_window(
    window: &[u8],
    used: &mut usize,
    long: &mut Option<Long>,
    last: bool,
    handler: &mut impl Handler,
) -> Result<(), String> {
    loop {
        if let Some(begun) = *long {
            if !read_long(window, used, begun, handler) {
                return if last { Err(format!("the file ends before `{}`", begun.closing())) } else { Ok(()) };
            }
            *long = None;
        }
        match read_markup(window, used, last, handler)? {
            Ended::Incomplete => return Ok(()),
            Ended::Long(begun) => *long = Some(begun),
        }
    }
}

/// Reads up to the end of the closing mark. Returns `false` if it has not arrived yet.
fn read_long(window: &[u8], used: &mut usize, long: Long, handler: &mut impl Handler) -> bool {
    let rest = window.get(*used..).unwrap_or_default();
    let closing = long.closing().as_bytes();
    let found = memmem::find(rest, closing);
    // The mark itself may be split between two windows.
    let length = found.unwrap_or(rest.len().saturating_sub(closing.len() - 1));
    if long == Long::CData {
        handler.text(rest.get(..length).unwrap_or_default());
    }
    *used += if found.is_some() { length + closing.len() } else { length };
    found.is_some()
}

fn read_markup(window: &[u8], used: &mut usize, last: bool, handler: &mut impl Handler) -> Result<Ended, String> {
    let mut attributes = [Attribute::default(); MAX_ATTRIBUTES];
    loop {
        let rest = window.get(*used..).unwrap_or_default();
        let (text, rest) =
            rest.split_at_checked(memchr2(b'<', b'&', rest).unwrap_or(rest.len())).unwrap_or((rest, &[]));
        if !text.is_empty() {
            handler.text(text);
            *used += text.len();
        }
        if rest.is_empty() {
            return Ok(Ended::Incomplete);
        }
        let Some((markup, length)) = plain::read(rest, &mut attributes) else {
            match read_other(window, used, last, handler)? {
                Some(ended) => return Ok(ended),
                None => continue,
            }
        };
        match markup {
            Markup::Open { name, attributes: count, empty } => {
                handler.start(&Tag::Plain { name, attributes: attributes.get(..count).unwrap_or_default() })?;
                if empty {
                    handler.end(name)?;
                }
            }
            Markup::Close { name } => handler.end(name)?,
            Markup::Reference { name } => handler.reference(name),
        }
        *used += length;
    }
}

/// Reads one piece of markup that is not plain or not complete. `None` means that there may be
/// more.
fn read_other(
    window: &[u8],
    used: &mut usize,
    last: bool,
    handler: &mut impl Handler,
) -> Result<Option<Ended>, String> {
    let rest = window.get(*used..).unwrap_or_default();
    // The text starts with `<` or `&`: at a start, quick-xml would take U+FEFF for a byte order
    // mark and drop it.
    let mut reader = Reader::from_reader(rest);
    let config = reader.config_mut();
    // The handler checks the names, because this reader sees only a part of the file.
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let event = reader.read_event();
    let length = usize::try_from(reader.buffer_position()).unwrap_or(rest.len());
    match event {
        Ok(Event::Start(tag)) => handler.start(&Tag::Other(&tag))?,
        Ok(Event::Empty(tag)) => {
            handler.start(&Tag::Other(&tag))?;
            handler.end(tag.name().into_inner())?;
        }
        Ok(Event::End(tag)) => handler.end(tag.name().into_inner())?,
        // A reference that is truncated by the end of the window looks like text.
        Ok(Event::Text(text))
            if text.starts_with(b"&") && length >= rest.len() && text.len() <= MAX_REFERENCE && !last =>
        {
            return Ok(Some(Ended::Incomplete));
        }
        Ok(Event::Text(text)) => handler.text(&text),
        Ok(Event::CData(text)) => handler.text(&text),
        // If a window ended within it, its start was passed on as text.
        Ok(Event::GeneralRef(name)) if name.len() >= MAX_REFERENCE => {
            handler.text(rest.get(..length).unwrap_or_default());
        }
        Ok(Event::GeneralRef(name)) => handler.reference(&name),
        // Entities that the file defines are never expanded.
        Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_)) => {}
        Ok(Event::Eof) => {
            *used = window.len();
            return Ok(Some(Ended::Incomplete));
        }
        // quick-xml calls this error recoverable. Skip the malformed markup.
        Err(Error::IllFormed(_)) if length > 0 => {}
        Err(error) => return incomplete(rest, used, last, &error).map(Some),
    }
    *used += length;
    Ok(None)
}

/// Handles incomplete markup, which is truncated by the end of the window or of the file, or never
/// ends.
fn incomplete(rest: &[u8], used: &mut usize, last: bool, error: &Error) -> Result<Ended, String> {
    if let Some(long) = Long::begun(rest) {
        *used += long.opening().len();
        return Ok(Ended::Long(long));
    }
    if last {
        return Err(format!("the file ends early: {error}"));
    }
    let known = [Long::CData.opening(), Long::Comment.opening(), b"<!DOCTYPE"];
    let possible = known.iter().any(|opening| {
        let length = opening.len().min(rest.len());
        rest.get(..length).zip(opening.get(..length)).is_some_and(|(rest, opening)| rest.eq_ignore_ascii_case(opening))
    });
    if rest.starts_with(b"<!") && !possible {
        return Err("`<!` begins neither a comment nor CDATA".to_owned());
    }
    Ok(Ended::Incomplete)
}

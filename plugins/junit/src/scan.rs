//! From pieces of a file to the events of XML.
//!
//! quick-xml reads a slice without copying anything, but needs it whole; a file comes in pieces. So the scanner keeps a window: what
//! is complete in it is read in place, what is cut off at its end waits for the next piece. The two things of XML that may be
//! arbitrarily long, text and CDATA, never wait: what has come is handed on. Comments and processing instructions are passed over
//! the same way. So the window never holds more than one piece and one tag.
//!
//! Markup that is plain, which is nearly all of it, is read by [`crate::plain`]: a reader per event would cost a module more than the
//! event itself.

use std::io::BufRead;

use memchr::{memchr2, memmem};
use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::Event;

use crate::encoding::Utf8;
use crate::plain::{self, MAX_ATTRIBUTES, Markup};
use crate::tag::{Attribute, Tag};
use crate::text::MAX_REFERENCE;

/// Bytes of one tag, with all its attributes, at most: 8 MiB. Some tools write whole logs into the attribute `message`.
pub const MAX_TAG: usize = 8 << 20;

/// What takes the events. Names and values are as they stand in the file, as UTF-8. An error is a sentence and ends the file.
pub(crate) trait Handler {
    /// A tag that opens an element. One that closes it at once is followed by [`Handler::end`].
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), String>;
    /// The element of that name ends.
    fn end(&mut self, name: &[u8]) -> Result<(), String>;
    /// Characters of text or CDATA; a run of them may come in several calls.
    fn text(&mut self, raw: &[u8]);
    /// What stands between `&` and `;`.
    fn reference(&mut self, name: &[u8]);
    /// The file has ended.
    fn end_of_file(&mut self) -> Result<(), String>;
}

/// Something that was begun in an earlier window and is read up to its closing mark, wherever that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    CData,
    Comment,
    Instruction,
}

impl Long {
    /// What `rest` begins with.
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
    /// The rest is incomplete, or there is none.
    Incomplete,
    /// Something long was begun; its opening mark is used up.
    Long(Long),
}

/// Reads one file.
pub(crate) struct Scanner<R> {
    source: Utf8<R>,
    window: Vec<u8>,
    long: Option<Long>,
    /// Bytes of the file (as UTF-8) before the window.
    offset: u64,
}

impl<R: BufRead> Scanner<R> {
    pub(crate) fn new(source: Utf8<R>) -> Self {
        Self { source, window: Vec::new(), long: None, offset: 0 }
    }

    /// Hands the file's events to `handler`. The error is a sentence that says what is wrong and where.
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

/// Reads what is complete in `window`; `used` says where the rest begins, and after an error where that is.
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

/// Reads up to and including the closing mark; `false` if it is not there yet.
fn read_long(window: &[u8], used: &mut usize, long: Long, handler: &mut impl Handler) -> bool {
    let rest = window.get(*used..).unwrap_or_default();
    let closing = long.closing().as_bytes();
    let found = memmem::find(rest, closing);
    // The mark itself may be cut.
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

/// Reads one piece of markup that is not plain, or not complete. `None`: there may be more.
fn read_other(
    window: &[u8],
    used: &mut usize,
    last: bool,
    handler: &mut impl Handler,
) -> Result<Option<Ended>, String> {
    let rest = window.get(*used..).unwrap_or_default();
    // It begins with `<` or `&`: quick-xml would take U+FEFF at its start for a byte order mark and drop it.
    let mut reader = Reader::from_reader(rest);
    let config = reader.config_mut();
    // The handler checks the names: this reader sees only a part of the file.
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
        // A reference that is cut by the end of the window looks like text.
        Ok(Event::Text(text))
            if text.starts_with(b"&") && length >= rest.len() && text.len() <= MAX_REFERENCE && !last =>
        {
            return Ok(Some(Ended::Incomplete));
        }
        Ok(Event::Text(text)) => handler.text(&text),
        Ok(Event::CData(text)) => handler.text(&text),
        Ok(Event::GeneralRef(name)) => handler.reference(&name),
        // No entity is ever defined by what a file says.
        Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_)) => {}
        Ok(Event::Eof) => {
            *used = window.len();
            return Ok(Some(Ended::Incomplete));
        }
        // By quick-xml's word recoverable: what was wrong is passed over.
        Err(Error::IllFormed(_)) if length > 0 => {}
        Err(error) => return incomplete(rest, used, last, &error).map(Some),
    }
    *used += length;
    Ok(None)
}

/// Markup that is not complete: cut by the end of the window, or by the end of the file, or by nothing at all.
fn incomplete(rest: &[u8], used: &mut usize, last: bool, error: &Error) -> Result<Ended, String> {
    if let Some(long) = Long::begun(rest) {
        *used += long.opening().len();
        return Ok(Ended::Long(long));
    }
    if last {
        return Err(format!("the file is interrupted: {error}"));
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

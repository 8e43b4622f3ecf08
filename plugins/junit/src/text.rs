//! The text of an element or attribute, with references resolved, line breaks normalized, and
//! limited length.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// Maximum number of bytes to keep of one text: 4 MiB. The largest failure text seen in practice is
/// 3 MiB.
pub const MAX_TEXT: usize = 4 << 20;

/// Maximum number of bytes of a reference without its `;`. A longer one is text. The longest valid
/// reference is `&#x0010FFFF` with a few zeros.
pub(crate) const MAX_REFERENCE: usize = 64;

/// A text that is collected piece by piece.
#[derive(Debug)]
pub(crate) struct Text {
    kept: Vec<u8>,
    room: usize,
    total: u64,
    after_return: bool,
}

impl Text {
    /// Creates a text that keeps at most `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { kept: Vec::new(), room, total: 0, after_return: false }
    }

    /// Returns the number of bytes that arrived, kept or not.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Appends characters as in the file, with line breaks normalized (XML 1.0, section 2.11).
    pub(crate) fn push(&mut self, mut raw: &[u8]) {
        if self.after_return && !raw.is_empty() {
            raw = raw.strip_prefix(b"\n").unwrap_or(raw);
            self.after_return = false;
        }
        while let Some(place) = memchr(b'\r', raw) {
            let (line, rest) = raw.split_at(place);
            self.keep(line);
            self.keep(b"\n");
            raw = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_return = true;
                    return;
                }
                [_, rest @ ..] => rest,
                [] => return,
            };
        }
        self.keep(raw);
    }

    /// Appends the character of a reference. An unknown reference stays as it is written: entities
    /// are never expanded.
    pub(crate) fn push_reference(&mut self, name: &[u8]) {
        self.after_return = false;
        match resolve(name) {
            Some(character) => self.keep(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => {
                self.keep(b"&");
                self.push(name);
                self.keep(b";");
            }
        }
    }

    /// Appends the value of an attribute, whose references are unresolved.
    pub(crate) fn push_value(&mut self, mut raw: &[u8]) {
        while let Some(place) = memchr(b'&', raw) {
            let (before, rest) = raw.split_at(place);
            self.push(before);
            let name = rest.get(1..).unwrap_or_default();
            let end = name.iter().take(MAX_REFERENCE).position(|&byte| byte == b';' || byte == b'&');
            match end.and_then(|end| name.get(end).map(|byte| (end, *byte))) {
                Some((end, b';')) => {
                    self.push_reference(name.get(..end).unwrap_or_default());
                    raw = name.get(end + 1..).unwrap_or_default();
                }
                _ => {
                    self.push(b"&");
                    raw = name;
                }
            }
        }
        self.push(raw);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.room.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// Returns the text. If something was cut, a last line notes it.
    pub(crate) fn into_string(self) -> String {
        let Self { kept: mut bytes, room, total, .. } = self;
        let mut whole = total == bytes.len() as u64;
        if !whole && let Some(broken) = broken_tail(&bytes) {
            bytes.truncate(broken);
        }
        let shown = bytes.len();
        let mut text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                // Each invalid byte is replaced by three bytes.
                let mut text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                whole &= text.len() <= room;
                text.truncate(text.floor_char_boundary(room));
                text
            }
        };
        if !whole {
            text.push_str(&format!("\n[cut: the first {shown} of {total} bytes]"));
        }
        text
    }
}

/// Returns the start of a character that is cut by the end of `bytes`.
fn broken_tail(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().saturating_sub(4);
    let error = std::str::from_utf8(bytes.get(tail..)?).err()?;
    // Up to three bytes of the tail may belong to the character before it.
    match error.error_len() {
        None => Some(tail + error.valid_up_to()),
        Some(_) => {
            let start = bytes.get(tail..)?.iter().position(|&byte| byte & 0xC0 != 0x80)?;
            let error = std::str::from_utf8(bytes.get(tail + start..)?).err()?;
            error.error_len().is_none().then_some(tail + start + error.valid_up_to())
        }
    }
}

/// Returns the value of an attribute, at most about `room` bytes of it. It is borrowed if there is
/// nothing to resolve, which is the usual case.
pub(crate) fn value(raw: &[u8], room: usize) -> Cow<'_, str> {
    if raw.len() <= room
        && memchr2(b'&', b'\r', raw).is_none()
        && let Ok(text) = std::str::from_utf8(raw)
    {
        return Cow::Borrowed(text);
    }
    let mut text = Text::new(room);
    text.push_value(raw);
    Cow::Owned(text.into_string())
}

/// Returns the character of a reference: one of XML's five names, or a number (XML 1.0, sections
/// 4.1 and 4.6).
fn resolve(name: &[u8]) -> Option<char> {
    match name {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', digits @ ..] => {
            let digits = std::str::from_utf8(digits).ok()?;
            let (digits, radix) = match digits.strip_prefix('x') {
                Some(digits) => (digits, 16),
                None => (digits, 10),
            };
            if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
                return None;
            }
            // Tools that dump bytes write invalid character numbers. Mark the place, and continue.
            let character = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
            Some(character.unwrap_or(char::REPLACEMENT_CHARACTER))
        }
        _ => None,
    }
}

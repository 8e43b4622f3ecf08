//! Classes of characters: in brackets, and those with a letter of their own.

use std::fmt::Write;

use super::cursor::Cursor;
use super::error::Fault;
use super::escape::escape;
use super::property::property;

/// Every character.
pub(super) const ALL: &str = r"[\x{0}-\x{10FFFF}]";
/// No character.
pub(super) const NONE: &str = r"[^\x{0}-\x{10FFFF}]";

/// Surrogates, which no text in UTF-8 has.
const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// The class of a letter after a backslash. All are of ASCII, and `\s` is without the vertical tab.
pub(super) fn letter(c: char) -> Option<&'static str> {
    Some(match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r\x20]",
        'S' => r"[^\t\n\x0C\r\x20]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// The class of a name between `[:` and `:]`.
fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1F\x7F",
        "digit" => "0-9",
        "graph" => r"\x21-\x7E",
        "lower" => "a-z",
        "print" => r"\x20-\x7E",
        "punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        "space" => r"\t\n\x0B\x0C\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// A code point as a class or in one; `None` for a surrogate.
fn point(value: u32) -> Option<char> {
    char::from_u32(value)
}

/// Reads the class in brackets that begins here.
pub(super) fn brackets(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let start = cursor.at();
    cursor.skip(1);
    let negated = cursor.eat("^");
    let mut items = String::new();
    // A bracket that comes first stands for itself.
    let mut first = true;
    while first || !cursor.rest().starts_with(']') {
        first = false;
        if cursor.is_at_end() {
            return Err(cursor.fault(start, "the class has no closing `]`"));
        }
        item(cursor, start, &mut items)?;
    }
    cursor.skip(1);
    Ok(match (items.is_empty(), negated) {
        (true, false) => NONE.to_owned(),
        (true, true) => ALL.to_owned(),
        (false, false) => format!("[{items}]"),
        (false, true) => format!("[^{items}]"),
    })
}

fn item(cursor: &mut Cursor<'_>, start: usize, items: &mut String) -> Result<(), Fault> {
    let rest = cursor.rest();
    if let Some(inner) = rest.strip_prefix("[:")
        && let Some(end) = inner.find(":]")
    {
        let from = cursor.at();
        cursor.skip(end + 4);
        let name = inner.get(..end).unwrap_or_default();
        let (sign, plain) = name.strip_prefix('^').map_or(("", name), |plain| ("^", plain));
        let class = posix(plain).ok_or_else(|| cursor.fault(from, "Go knows no class of this name"))?;
        // Cannot fail: writing to a String, here and below.
        let _ = write!(items, "[{sign}{class}]");
        return Ok(());
    }
    if rest.starts_with("\\p") || rest.starts_with("\\P") {
        items.push_str(&property(cursor)?);
        return Ok(());
    }
    if let Some(class) = rest.strip_prefix('\\').and_then(|rest| rest.chars().next()).and_then(letter) {
        cursor.skip(2);
        items.push_str(class);
        return Ok(());
    }
    range(cursor, start, items)
}

/// One character, or a range of them.
fn range(cursor: &mut Cursor<'_>, start: usize, items: &mut String) -> Result<(), Fault> {
    let from = cursor.at();
    let low = character(cursor, start)?;
    let mut high = low;
    let rest = cursor.rest();
    if rest.len() >= 2 && rest.starts_with('-') && !rest.starts_with("-]") {
        cursor.skip(1);
        high = character(cursor, start)?;
        if high < low {
            return Err(cursor.fault(from, "the range ends before it begins"));
        }
    }
    // Surrogates at the ends of a range are left out: nothing can match them.
    let low = if SURROGATES.contains(&low) { SURROGATES.end() + 1 } else { low };
    let high = if SURROGATES.contains(&high) { SURROGATES.start() - 1 } else { high };
    if low <= high && point(low).is_some() && point(high).is_some() {
        let _ = write!(items, r"\x{{{low:X}}}-\x{{{high:X}}}");
    }
    Ok(())
}

fn character(cursor: &mut Cursor<'_>, start: usize) -> Result<u32, Fault> {
    match cursor.peek() {
        None => Err(cursor.fault(start, "the class has no closing `]`")),
        Some('\\') => escape(cursor),
        Some(c) => {
            cursor.skip(c.len_utf8());
            Ok(u32::from(c))
        }
    }
}

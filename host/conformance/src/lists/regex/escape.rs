//! Characters after a backslash.

use super::cursor::Cursor;
use super::error::Fault;

/// The largest code point.
const MAX: u32 = 0x10_FFFF;

const UNKNOWN: &str = "Go knows no such escape";

/// Reads the escape that stands here: the code point that it means, which may be a surrogate.
pub(super) fn escape(cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
    let from = cursor.at();
    cursor.skip(1);
    let Some(c) = cursor.next() else {
        return Err(cursor.fault(from, "the backslash at the end escapes nothing"));
    };
    let fault = |cursor: &Cursor<'_>, what| Err(cursor.fault(from, what));
    match c {
        '1'..='7' if !cursor.rest().starts_with(|next: char| next.is_digit(8)) => {
            fault(cursor, "Go's expressions cannot refer back to a group")
        }
        '8' | '9' => fault(cursor, "Go's expressions cannot refer back to a group"),
        '0'..='7' => Ok(octal(cursor, c)),
        'x' => hexadecimal(cursor, from),
        'a' => Ok(0x07),
        'f' => Ok(0x0C),
        'n' => Ok(0x0A),
        'r' => Ok(0x0D),
        't' => Ok(0x09),
        'v' => Ok(0x0B),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(u32::from(c)),
        'Z' => fault(cursor, "Go knows only `\\z` for the end of the text"),
        _ => fault(cursor, UNKNOWN),
    }
}

/// Up to three digits, the first of which was read.
fn octal(cursor: &mut Cursor<'_>, first: char) -> u32 {
    let mut value = first.to_digit(8).unwrap_or_default();
    for _ in 0..2 {
        let Some(digit) = cursor.peek().and_then(|c| c.to_digit(8)) else { break };
        cursor.skip(1);
        value = value * 8 + digit;
    }
    value
}

/// Two digits, or any number of them in braces.
fn hexadecimal(cursor: &mut Cursor<'_>, from: usize) -> Result<u32, Fault> {
    let mut value = 0;
    if cursor.eat("{") {
        let mut digits = 0;
        loop {
            match cursor.next() {
                Some('}') if digits > 0 => return Ok(value),
                Some(c) => {
                    let Some(digit) = c.to_digit(16) else { return Err(cursor.fault(from, UNKNOWN)) };
                    value = value * 16 + digit;
                    digits += 1;
                }
                None => return Err(cursor.fault(from, UNKNOWN)),
            }
            if value > MAX {
                return Err(cursor.fault(from, "there is no such code point"));
            }
        }
    }
    for _ in 0..2 {
        let Some(digit) = cursor.next().and_then(|c| c.to_digit(16)) else { return Err(cursor.fault(from, UNKNOWN)) };
        value = value * 16 + digit;
    }
    Ok(value)
}

//! Groups that set flags, and the beginnings of named groups.

use super::cursor::Cursor;
use super::error::Fault;

/// Flags that change what matches. Greed (`U`) does not: here it is only asked whether something matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// `i`: letters in either case.
    pub(super) fold: bool,
    /// `m`: `^` and `$` also at lines.
    pub(super) lines: bool,
    /// `s`: `.` also for line feeds.
    pub(super) dot_all: bool,
}

/// What stands behind `(?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// A group begins, and inside it these flags hold.
    Group(Flags),
    /// From here to the end of the group around it these flags hold.
    Set(Flags),
}

/// Reads `(?…` up to the first character of what is grouped.
pub(super) fn opening(cursor: &mut Cursor<'_>, now: Flags) -> Result<Opening, Fault> {
    let from = cursor.at();
    if cursor.eat("(?P<") || cursor.eat("(?<") {
        return named(cursor, from, now);
    }
    cursor.skip("(?".len());
    let (mut flags, mut on, mut seen) = (now, true, false);
    while let Some(c) = cursor.next() {
        match c {
            'i' => flags.fold = on,
            'm' => flags.lines = on,
            's' => flags.dot_all = on,
            'U' => {}
            '-' if on => {
                (on, seen) = (false, false);
                continue;
            }
            ':' if on || seen => return Ok(Opening::Group(flags)),
            ')' if on || seen => return Ok(Opening::Set(flags)),
            '=' | '!' | '<' => return Err(cursor.fault(from, "Go's expressions cannot look around")),
            _ => break,
        }
        seen = true;
    }
    Err(cursor.fault(from, "no group of Go's begins so"))
}

fn named(cursor: &mut Cursor<'_>, from: usize, now: Flags) -> Result<Opening, Fault> {
    let rest = cursor.rest();
    if rest.starts_with(['=', '!']) {
        cursor.skip(1);
        return Err(cursor.fault(from, "Go's expressions cannot look around"));
    }
    let Some(end) = rest.find('>') else {
        return Err(cursor.fault_to_end(from, "the name of the group has no end"));
    };
    cursor.skip(end + 1);
    let name = rest.get(..end).unwrap_or_default();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(cursor.fault(from, "a group's name has letters, digits and `_` only"));
    }
    Ok(Opening::Group(now))
}

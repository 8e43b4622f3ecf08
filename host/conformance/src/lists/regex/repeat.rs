//! Counted repetitions.

use super::cursor::Cursor;

/// The most that Go counts to, nested repetitions multiplied.
pub(super) const MAX_COUNT: u32 = 1000;

/// What follows an opening brace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Braces {
    /// No repetition: the brace stands for itself.
    Literal,
    /// More than [`MAX_COUNT`], or the least above the most.
    OutOfBounds,
    /// At least, and at most if there is an end.
    Counts(u32, Option<u32>),
}

/// Reads `{n}`, `{n,}` or `{n,m}`; stays where it is if none of them stands here.
pub(super) fn braces(cursor: &mut Cursor<'_>) -> Braces {
    let start = *cursor;
    match counts(cursor) {
        Some(counts) => counts,
        None => {
            *cursor = start;
            Braces::Literal
        }
    }
}

fn counts(cursor: &mut Cursor<'_>) -> Option<Braces> {
    cursor.eat("{").then_some(())?;
    let least = number(cursor)?;
    let most = if !cursor.eat(",") {
        Some(least)
    } else if cursor.rest().starts_with('}') {
        None
    } else {
        Some(number(cursor)?)
    };
    cursor.eat("}").then_some(())?;
    let fits = least <= MAX_COUNT && most.is_none_or(|most| most <= MAX_COUNT && least <= most);
    Some(if fits { Braces::Counts(least, most) } else { Braces::OutOfBounds })
}

/// A decimal number without leading zeros; what is too large for the type is simply too large.
fn number(cursor: &mut Cursor<'_>) -> Option<u32> {
    let rest = cursor.rest();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let text = rest.get(..digits)?;
    if text.is_empty() || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    cursor.skip(digits);
    Some(text.parse().unwrap_or(u32::MAX))
}

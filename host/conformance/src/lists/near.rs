//! What a focus that selects nothing may have meant.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Names that are told.
const SHOWN: usize = 3;
/// Letters of a word that says something.
const LEAST: usize = 3;
/// Words of a focus that are looked for: one that selects nothing is rarely longer, and may be a whole list of names.
const MAX_WORDS: usize = 64;

/// Up to three of `tests` that have most words of `focus` in them, whatever their case; none if no word is in any.
pub fn near<'a>(focus: &str, tests: impl Iterator<Item = &'a str>) -> Vec<String> {
    let words = words(focus);
    if words.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(Reverse<usize>, usize, &str)> = Vec::new();
    for test in tests {
        let lower = test.to_lowercase();
        let hits = words.iter().filter(|word| lower.contains(word.as_str())).count();
        if hits > 0 {
            found.push((Reverse(hits), test.len(), test));
            // Of those with as many words the shortest name is closest.
            found.sort_unstable();
            found.truncate(SHOWN);
        }
    }
    found.into_iter().map(|(_, _, test)| test.to_owned()).collect()
}

/// The words of an expression, in small letters: escapes and operators are none.
fn words(focus: &str) -> Vec<String> {
    let mut text = String::new();
    let mut chars = focus.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                // A letter after a backslash is a class, everything else stands for itself.
                text.push(chars.next().filter(|c| !c.is_alphanumeric()).unwrap_or(' '));
            }
            c => text.push(c),
        }
    }
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= LEAST);
    let words: BTreeSet<&str> = words.take(MAX_WORDS).collect();
    words.into_iter().map(str::to_owned).collect()
}

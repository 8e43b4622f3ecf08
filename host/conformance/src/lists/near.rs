//! What a focus that selects nothing may have meant.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use plumbline_core::closest;

/// Names that are told.
const SHOWN: usize = 3;
/// Letters of a word that says something.
const LEAST: usize = 3;
/// Words of a focus that are looked for: one that selects nothing is rarely longer, and may be a whole list of names.
const MAX_WORDS: usize = 64;

/// Up to three of `tests` that have most words of `focus` in them, whatever their case; none if no word is in any. A word that is in few names
/// says more than one that is in nearly all; one that is in none stands for the word of a name that it looks most like.
pub fn near<'a>(focus: &str, tests: impl Iterator<Item = &'a str>) -> Vec<String> {
    let words = words(focus);
    let tests: Vec<(String, &str)> = tests.map(|test| (test.to_lowercase(), test)).collect();
    let with = |word: &str| tests.iter().filter(|(lower, _)| lower.contains(word)).count();
    let mut weighed: Vec<(String, usize)> = Vec::new();
    for word in words {
        let meant = match with(&word) {
            0 => closest(&word, tests.iter().flat_map(|(lower, _)| split(lower))).map(str::to_owned),
            _ => Some(word),
        };
        if let Some(meant) = meant {
            let weight = tests.len() / with(&meant).max(1);
            weighed.push((meant, weight));
        }
    }
    let mut found: Vec<(Reverse<usize>, usize, &str)> = Vec::new();
    for (lower, test) in &tests {
        let weights = weighed.iter().filter(|(word, _)| lower.contains(word.as_str())).map(|(_, weight)| weight);
        let weight: usize = weights.sum();
        if weight > 0 {
            found.push((Reverse(weight), test.len(), test));
            // Of those that weigh as much the shortest name is closest.
            found.sort_unstable();
            found.truncate(SHOWN);
        }
    }
    found.into_iter().map(|(_, _, test)| test.to_owned()).collect()
}

/// The words of a text that say something.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= LEAST)
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
    let words: BTreeSet<&str> = split(&text).take(MAX_WORDS).collect();
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::near;

    const TESTS: [&str; 5] = [
        "[sig-apps] CronJob should support timezone",
        "[sig-apps] Job should delete a job",
        "[sig-network] Services should serve a basic endpoint from pods",
        "[sig-node] Pods should be submitted and removed",
        "[sig-node] Pods should get a host IP",
    ];

    #[test]
    fn rare_words_say_more_and_misspelt_ones_are_understood() {
        let found = |focus| near(focus, TESTS.into_iter());
        assert_eq!(found("Podz should be submited")[0], TESTS[3]);
        assert_eq!(found(r"\[sig-apps\] Cronjobs should")[0], TESTS[0]);
        assert_eq!(found("should")[0], TESTS[1], "the shortest of those that are as near");
        assert!(found("xyzzy").is_empty() && found(".*").is_empty());
    }
}

//! Suggestions for a focus that selects nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use plumbline_core::closest;

/// Maximum number of suggestions.
const SHOWN: usize = 3;
/// Minimum length of a relevant word.
const LEAST: usize = 3;
/// Maximum number of words of a focus to use. A focus that selects nothing is rarely longer, but it
/// can be a whole list of names.
const MAX_WORDS: usize = 64;

/// Returns up to three of `tests` that share the most words with `focus`, ignoring case. Rare words
/// have a higher weight. A word that occurs in no name is replaced by the most similar word.
/// Returns nothing if no word matches.
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
            // With equal weights, prefer the shortest name.
            found.sort_unstable();
            found.truncate(SHOWN);
        }
    }
    found.into_iter().map(|(_, _, test)| test.to_owned()).collect()
}

/// Splits a text into its relevant words.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= LEAST)
}

/// Returns the words of an expression in lower case, without escapes and operators.
fn words(focus: &str) -> Vec<String> {
    let mut text = String::new();
    let mut chars = focus.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                // A letter after a backslash is a class. Other characters are literal.
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

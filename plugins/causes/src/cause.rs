//! The cause of a failure: its id and template.

use std::collections::BTreeSet;

use plumbline_sdk::Item;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::mask::WILDCARD;

/// Part of each id, so that a change of the rules gives other ids.
const GENERATION: &str = "causes 1";
/// Number of bytes of an id. With 10,000 causes, two have the same id once in six million runs.
const ID_BYTES: usize = 6;
/// Number of different informative words that identify a cause without a location.
const MIN_INFORMATIVE: usize = 3;
/// Minimum length of an informative word.
const MIN_WORD: usize = 3;
/// Maximum length of a template in characters.
const MAX_TEMPLATE: usize = 300;

/// Words of assertions, test runners and programming languages, which say nothing about a cause.
/// Sorted, in lower case.
const COMMON: [&str; 141] = [
    "actual",
    "address",
    "after",
    "and",
    "argument",
    "arguments",
    "array",
    "assert",
    "assert.equal",
    "asserting",
    "assertion",
    "assertionerror",
    "assertionfailederror",
    "attempts",
    "be",
    "bool",
    "bounds",
    "but",
    "bytes",
    "called",
    "code",
    "comparison",
    "condition",
    "contain",
    "contains",
    "context",
    "count",
    "data",
    "deadline",
    "deep",
    "dereference",
    "did",
    "differ",
    "difference",
    "differs",
    "does",
    "element",
    "elements",
    "empty",
    "entries",
    "equal",
    "equality",
    "equals",
    "err",
    "error",
    "errors",
    "exactly",
    "exceeded",
    "exception",
    "expect",
    "expectation",
    "expected",
    "fail",
    "failed",
    "failing",
    "failure",
    "false",
    "first",
    "following",
    "for",
    "found",
    "from",
    "given",
    "got",
    "greater",
    "had",
    "has",
    "have",
    "identical",
    "index",
    "instead",
    "int",
    "invalid",
    "item",
    "items",
    "iterable",
    "len",
    "length",
    "less",
    "list",
    "match",
    "matches",
    "memory",
    "message",
    "more",
    "must",
    "nil",
    "none",
    "not",
    "null",
    "number",
    "object",
    "occurred",
    "one",
    "only",
    "out",
    "panic",
    "panicked",
    "pointer",
    "received",
    "recovered",
    "reference",
    "result",
    "return",
    "returned",
    "right",
    "runtime",
    "same",
    "satisfied",
    "second",
    "seconds",
    "should",
    "size",
    "string",
    "test",
    "tests",
    "than",
    "that",
    "the",
    "this",
    "time",
    "timed",
    "timeout",
    "true",
    "type",
    "undefined",
    "unexpected",
    "value",
    "values",
    "wait",
    "waiting",
    "want",
    "wanted",
    "was",
    "were",
    "while",
    "with",
    "within",
    "would",
    "wrong",
    "zero",
];

/// The cause of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The id: 12 hexadecimal digits.
    pub id: String,
    /// What failures of this cause have in common.
    pub template: String,
}

impl Cause {
    /// Returns the cause of a failed item. It depends on nothing but this item.
    #[must_use]
    pub fn of(item: &Item) -> Self {
        let failure = Failure::of(item);
        let (words, scope) = match failure.message.as_slice() {
            [] => (&failure.name, None),
            message if is_specific(message) => (&failure.message, None),
            _ => (&failure.message, Some(scope(&failure))),
        };
        let text = words.join(" ");
        let mut hash = Sha256::new();
        for part in [GENERATION, &text, scope.as_deref().unwrap_or_default()] {
            hash.update(part);
            hash.update([0]);
        }
        let id = hash.finalize().iter().take(ID_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self { id, template: template(&text, scope.as_deref()) }
    }
}

/// The source file, or without one the class and the name of the test.
fn scope(failure: &Failure) -> String {
    if let Some(location) = &failure.location {
        return location.clone();
    }
    let name = failure.name.join(" ");
    if failure.class.is_empty() { name } else { format!("{name}, {}", failure.class) }
}

/// Returns whether a message says enough about its cause.
fn is_specific(message: &[String]) -> bool {
    let mut informative = BTreeSet::new();
    for word in message {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if word.contains(WILDCARD) || word.chars().filter(|c| c.is_alphabetic()).count() < MIN_WORD {
            continue;
        }
        let word = word.to_lowercase();
        if COMMON.binary_search(&word.as_str()).is_err()
            && informative.insert(word)
            && informative.len() >= MIN_INFORMATIVE
        {
            return true;
        }
    }
    false
}

fn template(text: &str, scope: Option<&str>) -> String {
    let whole = match scope {
        None if text.is_empty() => "no message".to_owned(),
        None => text.to_owned(),
        Some(scope) => format!("{text} ({scope})"),
    };
    match whole.char_indices().nth(MAX_TEMPLATE) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template_of(name: &str, text: &str) -> String {
        Cause::of(&Item::new(1, name).meta("classname", "C").text("failure", text)).template
    }

    #[test]
    fn a_short_message_needs_a_place() {
        for (text, want) in [
            ("context deadline exceeded", "context deadline exceeded (t <*>, C)"),
            ("context deadline exceeded\n/src/apps/job.go:90", "context deadline exceeded (apps/job.go)"),
            ("no space left on device\n/src/apps/job.go:90", "no space left on device"),
            ("Expected 1 to equal 2", "Expected <*> to equal <*> (t <*>, C)"),
        ] {
            assert_eq!(template_of("t 1", text), want);
        }
        assert_eq!(template_of("check 33 of 50", "Failed"), "check <*> of <*>");
        assert_eq!(template_of("…", ""), "no message");
    }

    #[test]
    fn common_words_are_sorted() {
        assert!(COMMON.is_sorted() && COMMON.iter().all(|word| word.to_lowercase() == **word));
    }

    #[test]
    fn a_template_is_short_and_its_end_still_distinguishes_causes() {
        let long =
            |end: &str| Item::new(1, "t").text("failure", format!("{} {end}", "incomprehensibilities ".repeat(20)));
        let (one, other) = (Cause::of(&long("one")), Cause::of(&long("other")));
        assert_eq!(one.template.chars().count(), MAX_TEMPLATE + 1);
        assert_ne!(one.id, other.id);
    }
}

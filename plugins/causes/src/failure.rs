//! Reads the message and the source location of a failed item.

use plumbline_sdk::{Detail, Item};

use crate::location::{frame, is_library, placed, short};
use crate::mask::{is_wild, words};
use crate::text::{bounded, without_objects};

/// Maximum number of lines and words of a message.
const MAX_LINES: usize = 12;
const MAX_WORDS: usize = 48;
/// Maximum number of words of a line.
const MAX_LINE_WORDS: usize = 24;
/// Maximum number of words of the name of a test.
const MAX_NAME_WORDS: usize = 32;
/// The details with the text of a failure.
const DETAILS: [&str; 2] = ["failure", "error"];
/// The prefix that Ginkgo puts before the names of tests in JUnit files.
const PREFIX: &str = "[It] ";
/// Lines that say nothing about the cause. Gomega puts the last five around an error.
const EMPTY: [&str; 10] = [
    "failed",
    "failure",
    "error",
    "test failed",
    "traceback (most recent call last):",
    "unexpected error:",
    "expected error:",
    "expected success, but got an error:",
    "occurred",
    "not to have occurred",
];
/// The starts of lines that test runners write.
const MARKERS: [&str; 11] = [
    "=== RUN",
    "=== PAUSE",
    "=== CONT",
    "=== NAME",
    "--- FAIL",
    "--- PASS",
    "@@ ",
    "note: ",
    "created by ",
    "Full Stack",
    "[signal ",
];
/// The starts of lines after which there are only stack traces.
const STACKS: [&str; 3] = ["goroutine ", "stack backtrace:", "Stack trace:"];
/// The start of the line that ends a message.
const ENDS: &str = "In [";
const CAUSED_BY: &str = "Caused by: ";

/// The parts of a failed item that identify its cause.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Failure {
    /// The words of the message. Empty if the item says nothing but its name.
    pub(crate) message: Vec<String>,
    /// The source file of the test.
    pub(crate) location: Option<String>,
    /// The words of the test's name.
    pub(crate) name: Vec<String>,
    /// The class of the test.
    pub(crate) class: String,
}

impl Failure {
    /// Reads a failed item.
    pub(crate) fn of(item: &Item) -> Self {
        let name = item.name.trim();
        let name = name.strip_prefix(PREFIX).unwrap_or(name).trim_start();
        let mut failure = Self { class: meta(item, "classname").unwrap_or_default().to_owned(), ..Self::default() };
        failure.name = words(name, MAX_NAME_WORDS);
        let mut root_cause = Vec::new();
        for text in texts(item) {
            let read = Reading::of(&without_objects(&bounded(text)), name);
            if failure.message.is_empty() {
                failure.message = read.message;
            }
            failure.location = failure.location.or(read.place.or(read.frame).map(|path| short(&path)));
            if root_cause.is_empty() {
                root_cause = read.root_cause;
            }
        }
        let room = MAX_WORDS.saturating_sub(failure.message.len());
        if !ends_with(&failure.message, &root_cause) {
            failure.message.extend(root_cause.into_iter().take(room));
        }
        if failure.message.is_empty()
            && let Some(last) = detail(item, "output").and_then(|text| last_line(text, name))
        {
            failure.message = words(last, MAX_LINE_WORDS);
        }
        failure
    }
}

/// The texts of the failure: messages first, then bodies without these messages.
fn texts(item: &Item) -> impl Iterator<Item = &str> {
    let details = DETAILS.iter().flat_map(|key| {
        let message = item.details.iter().rev().find_map(|(name, value)| match value {
            Detail::Text(text) if name.strip_prefix(key) == Some("-message") => Some(text.as_str()),
            _ => None,
        });
        let body = detail(item, key).map(|body| message.and_then(|start| body.strip_prefix(start)).unwrap_or(body));
        message.into_iter().chain(body)
    });
    details.chain(meta(item, "error"))
}

fn detail<'a>(item: &'a Item, key: &str) -> Option<&'a str> {
    item.details.iter().rev().find_map(|(name, value)| match value {
        Detail::Text(text) if name == key => Some(text.as_str()),
        _ => None,
    })
}

fn meta<'a>(item: &'a Item, key: &str) -> Option<&'a str> {
    item.meta.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn last_line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty() && !is_empty(line, name))
}

fn ends_with(message: &[String], part: &[String]) -> bool {
    part.is_empty() || message.windows(part.len()).any(|window| window == part)
}

/// The parts of one text.
#[derive(Default)]
struct Reading {
    message: Vec<String>,
    lines: Vec<Vec<String>>,
    /// The number of lines of the message, repeated ones included.
    seen: usize,
    /// The last location on a line of its own that belongs to no library. Ginkgo and pytest write
    /// it below the message.
    place: Option<String>,
    /// The file of the innermost stack frame that belongs to no library.
    frame: Option<String>,
    /// The words of the last `Caused by:`.
    root_cause: Vec<String>,
}

impl Reading {
    fn of(text: &str, name: &str) -> Self {
        let mut reading = Self::default();
        // pytest marks the lines of the error among those of the source.
        let marked = text.lines().any(|line| line.starts_with("E   "));
        let (mut in_stack, mut skip) = (false, false);
        for line in text.lines() {
            let is_marked = line.starts_with("E   ");
            let line = line.strip_prefix('E').filter(|_| is_marked).unwrap_or(line).trim();
            if std::mem::take(&mut skip) || line.is_empty() || is_empty(line, name) {
                continue;
            }
            if let Some(path) = frame(line) {
                // The innermost frame is the first one, and in Python the last one. The line after
                // it is source code.
                skip = line.starts_with("File ");
                if skip && path.is_some() || reading.frame.is_none() {
                    reading.frame = path.map(str::to_owned).or(reading.frame);
                }
                continue;
            }
            in_stack |= STACKS.iter().any(|start| line.starts_with(start));
            let rest = match placed(line) {
                Some(placed) => {
                    if !(is_library(placed.path) || in_stack && reading.place.is_some()) {
                        reading.place = Some(placed.path.to_owned());
                    }
                    // Ginkgo writes this line at the end of the message. A log may follow.
                    if line.starts_with(ENDS) {
                        break;
                    }
                    placed.rest
                }
                None => line,
            };
            if let Some(cause) = line.strip_prefix(CAUSED_BY) {
                reading.root_cause = words(cause, MAX_LINE_WORDS);
            } else if !in_stack && (is_marked || !marked) && !rest.is_empty() && !is_empty(rest, name) {
                reading.add(rest, name);
            }
        }
        reading
    }

    fn add(&mut self, line: &str, name: &str) {
        let room = MAX_WORDS.saturating_sub(self.message.len()).min(MAX_LINE_WORDS);
        let is_diff = line.starts_with(['+', '-']) && !self.lines.is_empty();
        if room == 0 || self.seen >= MAX_LINES || is_diff {
            return;
        }
        self.seen += 1;
        // What varies at the start, such as a URL, is missing if another client reports the error.
        let found: Vec<String> =
            words(&without_type(line), room + 1).into_iter().skip_while(|word| is_wild(word)).collect();
        // Gomega writes the text of an error twice, in an order that depends on its version.
        if !found.is_empty() && !is_empty(&found.join(" "), name) && !self.lines.contains(&found) {
            self.message.extend(found.iter().cloned());
            self.lines.push(found);
        }
    }
}

/// Removes the type of an error, and the value of a string, which Gomega writes as
/// `<*errors.errorString | 0xc0002>: text` and `<string>: text`.
fn without_type(line: &str) -> String {
    let Some((kind, value)) = line.strip_prefix('<').and_then(|rest| rest.split_once(">:")) else {
        return line.to_owned();
    };
    let value = value.trim();
    match kind {
        _ if kind.contains(" | 0x") => value.to_owned(),
        "string" if !value.contains(char::is_whitespace) => "<string>: \"x\"".to_owned(),
        _ => line.to_owned(),
    }
}

/// Returns whether a line says nothing more than the name of the test.
fn is_empty(line: &str, name: &str) -> bool {
    let word = line.trim_end_matches('.');
    line == name
        || line.strip_prefix(PREFIX) == Some(name)
        || line.rsplit_once(':').is_some_and(|(before, last)| before.ends_with(':') && is_name(last, name))
        || MARKERS.iter().any(|marker| line.starts_with(marker))
        || EMPTY.iter().any(|empty| word.eq_ignore_ascii_case(empty))
        || line.chars().all(|c| matches!(c, '-' | '=' | '_' | '*' | '#' | '~' | ' '))
}

/// Returns whether a text is the name of the test, possibly followed by its data.
fn is_name(text: &str, name: &str) -> bool {
    let rest = text.strip_prefix(name).filter(|_| !name.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(item: &Item) -> (String, Option<String>) {
        let failure = Failure::of(item);
        (failure.message.join(" "), failure.location)
    }

    fn failed(text: &str) -> (String, Option<String>) {
        read(&Item::new(1, "[It] a test").text("failure", text))
    }

    #[test]
    fn the_message_is_what_says_more_than_the_name() {
        let place = |path: &str| Some(path.to_owned());
        let ended = "[FAILED] no space\nIn [It] at: /src/apps/job.go:90 @ 06/30/26 22:11:44.2\nSTEP: clean up";
        assert_eq!(failed(ended), ("no space".to_owned(), place("apps/job.go")));
        for (text, message, location) in [
            (
                "/src/test/e2e/framework/framework.go:630\nAug 17 17:08:48.006: no nodes\n/src/vendor/ginkgo/runner.go:113",
                "no nodes",
                None,
            ),
            (
                "=== RUN   a test\n    merge_test.go:31: want 3\n--- FAIL: a test (0.49s)",
                "want <*>",
                place("merge_test.go"),
            ),
            (
                "[PANICKED] index out of range [3]\ngoroutine 88 [running]:\nmain.f(0x1)\n\t/src/app/main.go:7 +0x1d\n\t/src/app/other.go:9 +0x1d",
                "index out of range <*>",
                place("app/main.go"),
            ),
            (
                "self = <x>\n\n>   assert a\nE   AssertionError: assert 1 == 2\n\ntests/test_a.py:21: AssertionError",
                "AssertionError: assert <*> == <*>",
                place("tests/test_a.py"),
            ),
            (
                "Traceback (most recent call last):\n  File \"/app/tests/a.py\", line 3, in test\n    self.assertTrue(x)\nAssertionError: False is not true",
                "AssertionError: False is not true",
                place("tests/a.py"),
            ),
            (
                "java.lang.Error: no\n\tat java.util.List.get(List.java:1)\n\tat org.example.ATest.a(ATest.java:4)\nCaused by: java.io.IOException: disk full",
                "java.lang.Error: no java.io.IOException: disk full",
                place("ATest.java"),
            ),
            (
                "App\\Tests\\A::a test with data (1)\nFailed asserting that 0 is 1.\n\n/app/tests/A.php:17",
                "Failed asserting that <*> is <*>.",
                place("tests/A.php"),
            ),
        ] {
            assert_eq!(failed(text), (message.to_owned(), location), "{text}");
        }
    }

    #[test]
    fn errors_of_gomega_are_the_same_in_each_of_its_versions() {
        let old = "Unexpected error:\n    <*errors.errorString | 0xc0001>: {\n        s: \"timed out waiting\",\n    }\n    timed out waiting\noccurred";
        let new = "Unexpected error:\n    <*errors.errorString | 0xc0002>: \n    timed out waiting\n    {\n        s: \"timed out waiting\",\n    }\noccurred";
        assert_eq!(failed(old).0, "timed out waiting");
        assert_eq!(failed(old), failed(new));
        assert_eq!(
            failed("Expected\n    <string>: abc\nto equal\n    <string>: d").0,
            "Expected <string>: <*> to equal"
        );
    }

    #[test]
    fn a_message_precedes_the_body_and_other_keys_follow() {
        let both = Item::new(1, "t").text("failure-message", "too slow").text("failure", "too slow at\na_test.go:3: x");
        assert_eq!(read(&both), ("too slow".to_owned(), Some("a_test.go".to_owned())));
        let empty = Item::new(1, "t").text("failure-message", "Failed").text("failure", "Failed a.go:7:2: undefined");
        assert_eq!(read(&empty), ("undefined".to_owned(), Some("a.go".to_owned())));
        assert_eq!(read(&Item::new(1, "t").text("error", "no module")).0, "no module");
        assert_eq!(read(&Item::new(1, "t").meta("error", "no file")).0, "no file");
        assert_eq!(read(&Item::new(1, "t").text("output", "ok\nlast: x\n\n")).0, "last: x");
        assert_eq!(read(&Item::new(1, "t").text("failure", "t")), (String::new(), None));
    }
}

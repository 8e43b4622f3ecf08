//! Extracts the reason of a test failure as one line.

use std::iter;

use serde_json::{Map, Value};

use crate::item::Meta;

/// The maximum length of a reason in characters.
const MAX_REASON: usize = 400;

/// The maximum number of lines to join if the first one only introduces the others.
const MAX_LINES: usize = 8;

/// The details that contain the reason of a failure.
const DETAILS: [&str; 2] = ["failure", "error"];

/// Returns the first line that explains why an item failed, cut to 400 characters. `None` means
/// that nothing says more than the name.
///
/// Formats put the reason in the details `failure` or `error`, or their messages. The host puts it
/// in the metadata key `error`. Source locations, markers of test runners and repetitions of the
/// name are skipped. The last line of the detail `output` is the fallback.
#[must_use]
pub fn reason(name: &str, details: &Map<String, Value>, meta: &Meta) -> Option<String> {
    let told = DETAILS.iter().flat_map(|key| {
        let (message, body) = message_and_body(key, details);
        message.into_iter().chain(body)
    });
    let mut texts = told.chain(meta.get("error").map(String::as_str));
    texts.find_map(|text| telling(name, text)).or_else(|| {
        let last = details.get("output")?.as_str()?.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(cut(last))
    })
}

/// Returns the message and the body of a failure. The body is the item's detail `key`, without the
/// message if it starts with it.
#[must_use]
pub fn message_and_body<'a>(key: &str, details: &'a Map<String, Value>) -> (Option<&'a str>, Option<&'a str>) {
    let text = |key: &str| details.get(key).and_then(Value::as_str);
    let message = text(&format!("{key}-message"));
    let body = text(key)
        .map(|body| message.and_then(|message| body.strip_prefix(message)).unwrap_or(body).trim_start_matches(' '));
    (message, body)
}

/// Returns the first informative line of `text`, together with the lines that it introduces.
fn telling(name: &str, text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_place(line) && !is_marker(line));
    let first = lines.find(|line| *line != name && !is_empty_word(line))?;
    if !first.ends_with(':') && first != "Expected" {
        return Some(cut(first));
    }
    let joined: Vec<&str> = iter::once(first).chain(lines.take(MAX_LINES)).collect();
    Some(cut(&joined.join(" ")))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_REASON).collect()
}

/// Returns whether the line is only a source location, such as `/src/framework.go:630`, `In [It]
/// at: /src/job.go:90 @ 06/30/26` or `thread 'tests::a' (7) panicked at src/lib.rs:4:24:`.
fn is_place(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("In [") {
        return rest.contains("] at: ");
    }
    let panicked = line.strip_prefix("thread '").and_then(|rest| rest.split_once(" panicked at "));
    let mut words = panicked.map_or(line, |(_, place)| place).split_whitespace();
    let Some(word) = words.next() else { return false };
    // Go stack traces add an offset.
    if words.any(|word| !word.starts_with("+0x")) {
        return false;
    }
    let word = word.trim_end_matches([':', ',']);
    let Some((path, number)) = word.rsplit_once(':') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A column may follow the line number.
    let path = path.rsplit_once(':').filter(|(_, line)| digits(line)).map_or(path, |(path, _)| path);
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    digits(number) && (file.contains('.') && !file.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns whether a test runner prints the line to mark the start or end of a test.
fn is_marker(line: &str) -> bool {
    ["=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- FAIL"].iter().any(|marker| line.starts_with(marker))
}

/// Returns whether the line only repeats the status.
fn is_empty_word(line: &str) -> bool {
    ["failed", "failure", "error", "test failed"]
        .iter()
        .any(|word| line.trim_end_matches('.').eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reason_of(name: &str, details: Value) -> Option<String> {
        let Value::Object(details) = details else { panic!("no object") };
        reason(name, &details, &Meta::new())
    }

    #[test]
    fn the_first_line_that_says_something_new_is_the_reason() {
        for (details, want) in [
            (json!({"failure": "\n  timed out \nmore"}), Some("timed out")),
            (json!({"error": "t"}), None),
            (json!({"error": "t", "output": "one\nlast words\n"}), Some("last words")),
            (json!({"failure": "m trace", "failure-message": "m"}), Some("m")),
            (
                json!({"failure": "/workspace/src/k8s.io/test/e2e/framework/framework.go:630\nneeds two nodes\nmore"}),
                Some("needs two nodes"),
            ),
            (json!({"failure": "/workspace/framework.go:630"}), None),
            (json!({"failure": "tests/test_dns.py:21: \nC:\\src\\a.cs:4:11\n/src/a.go:7 +0x25\nboom"}), Some("boom")),
            (json!({"failure": "In [It] at: /src/job.go:90 @ 06/30/26 22:11:44.2\nboom"}), Some("boom")),
            (
                json!({
                    "failure": "thread 't' (7) panicked at src/lib.rs:4:24 thread 't' (7) panicked at src/lib.rs:4:24:\nleft is not right",
                    "failure-message": "thread 't' (7) panicked at src/lib.rs:4:24",
                }),
                Some("left is not right"),
            ),
            (
                json!({"failure": "thread 't' panicked at 'boom', src/lib.rs:4:24"}),
                Some("thread 't' panicked at 'boom', src/lib.rs:4:24"),
            ),
            (json!({"failure": "a.go:7: want 3, got 2"}), Some("a.go:7: want 3, got 2")),
            (json!({"failure": "10.0.0.1:443"}), Some("10.0.0.1:443")),
            (
                json!({"failure": "Failed === RUN   TestA\n    a_test.go:3: x", "failure-message": "Failed"}),
                Some("a_test.go:3: x"),
            ),
            (
                json!({"failure": "=== RUN   TestA\n    a_test.go:3: want 1\n--- FAIL: TestA"}),
                Some("a_test.go:3: want 1"),
            ),
            (
                json!({"failure": "Expected\n    <int>: 1\nto be >\n    <int>: 1\n/src/a.go:1"}),
                Some("Expected <int>: 1 to be > <int>: 1"),
            ),
            (json!({"failure": "Unexpected error:\n  timed out"}), Some("Unexpected error: timed out")),
            (json!({"failure": 7, "error": "x"}), Some("x")),
            (json!({}), None),
        ] {
            assert_eq!(reason_of("t", details.clone()).as_deref(), want, "{details}");
        }
        assert_eq!(reason_of("t", json!({"failure": "x".repeat(1000)})).unwrap().len(), MAX_REASON);
    }

    #[test]
    fn a_body_is_shown_without_the_message_before_it() {
        let details = json!({"failure": "m body", "failure-message": "m", "error": "e"});
        let details = details.as_object().unwrap();
        assert_eq!(message_and_body("failure", details), (Some("m"), Some("body")));
        assert_eq!(message_and_body("error", details), (None, Some("e")));
        assert_eq!(message_and_body("other", details), (None, None));
    }
}

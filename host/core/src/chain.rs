//! Formats an error and its causes as one line.

use std::error::Error;
use std::fmt::Write as _;

/// Returns the message of `error` and of all its causes, separated by `: `.
///
/// A cause is left out if the text so far already contains its message. Some libraries repeat the
/// message of a cause in their own.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            // Writing to a String cannot fail.
            let _ = write!(text, ": {told}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Layer>>);

    #[test]
    fn causes_follow_and_are_told_once() {
        let bottom = Layer("connection refused", None);
        let middle = Layer("connect: connection refused", Some(Box::new(bottom)));
        let top = Layer("send the result", Some(Box::new(middle)));
        assert_eq!(chain(&top), "send the result: connect: connection refused");
    }
}

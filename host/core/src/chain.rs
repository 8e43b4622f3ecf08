//! An error with its causes, in one line.

use std::error::Error;
use std::fmt::Write as _;

/// The error and all its causes, parted by `: `. A cause whose words stand in what was said already is left out: some libraries repeat their
/// causes in their own message.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            // Cannot fail: writing to a String.
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

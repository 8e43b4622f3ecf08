//! Values of options: their types, and the text that a suite gets.

use plumbline_core::closest;
use plumbline_core::duration::{DurationError, parse_duration};
use plumbline_core::size::Bytes;
use url::Url;

use super::model::OptionType;

/// Maximum size of a value in bytes. In a cluster, a run shares 1 MiB for all of them.
pub const MAX_VALUE_BYTES: usize = 256 << 10;

/// Error for a value that does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The value is not a boolean.
    #[error("expected `true` or `false`")]
    Bool,
    /// The value is not a whole number.
    #[error("expected a whole number")]
    Integer,
    /// The value is not a duration.
    #[error("expected a duration: {0}")]
    Duration(DurationError),
    /// The value is not a URL.
    #[error("expected a URL such as `https://example.com`: {0}")]
    Url(String),
    /// The value is not among those of the option.
    #[error("expected one of {known}{meant}")]
    Enum {
        /// The values, quoted.
        known: String,
        /// `: did you mean …?`, or nothing.
        meant: String,
    },
    /// A list has an empty entry.
    #[error("expected values that are separated by commas: entry {0} is empty")]
    List(usize),
    /// The value has line breaks or other control characters.
    #[error("expected text in one line, without control characters")]
    Line,
    /// The value is empty.
    #[error("expected a value")]
    Empty,
    /// The value is too large.
    #[error("it has {}, more than the limit of {}", Bytes(*.0), Bytes(MAX_VALUE_BYTES as u64))]
    TooLarge(u64),
}

impl OptionType {
    /// Checks `text`, and returns the text that the suite gets.
    pub(crate) fn checked(&self, text: &str) -> Result<String, ValueError> {
        if text.len() > MAX_VALUE_BYTES {
            return Err(ValueError::TooLarge(text.len() as u64));
        }
        if *self != Self::File && text.contains(char::is_control) {
            return Err(ValueError::Line);
        }
        match self {
            Self::String | Self::File => Ok(text.to_owned()),
            Self::Bool => text.parse::<bool>().map(|truth| truth.to_string()).map_err(|_| ValueError::Bool),
            Self::Integer => text.parse::<i64>().map(|number| number.to_string()).map_err(|_| ValueError::Integer),
            // Seconds, because Go knows no days.
            Self::Duration => parse_duration(text)
                .map(|duration| format!("{}s", duration.as_secs_f64()))
                .map_err(ValueError::Duration),
            Self::Url => url(text),
            Self::Enum(values) => enumerated(values, text),
            Self::List => list(text),
            Self::Path if text.is_empty() => Err(ValueError::Empty),
            Self::Path => Ok(text.to_owned()),
        }
    }
}

fn url(text: &str) -> Result<String, ValueError> {
    let url = Url::parse(text).map_err(|error| ValueError::Url(error.to_string()))?;
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(text.to_owned()),
        _ => Err(ValueError::Url("it has no host".to_owned())),
    }
}

fn enumerated(values: &[String], text: &str) -> Result<String, ValueError> {
    if values.iter().any(|value| value == text) {
        return Ok(text.to_owned());
    }
    let known = values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    let near = closest(text, values.iter().map(String::as_str));
    let meant = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
    Err(ValueError::Enum { known, meant })
}

fn list(text: &str) -> Result<String, ValueError> {
    let entries: Vec<&str> = text.split(',').map(str::trim).collect();
    match entries.iter().position(|entry| entry.is_empty()) {
        Some(at) => Err(ValueError::List(at + 1)),
        None => Ok(entries.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_the_text_that_suites_read() {
        for (kind, typed, got) in [
            (OptionType::String, "a b", "a b"),
            (OptionType::String, "", ""),
            (OptionType::Bool, "true", "true"),
            (OptionType::Integer, "-07", "-7"),
            (OptionType::Duration, "1h30m", "5400s"),
            (OptionType::Duration, "500ms", "0.5s"),
            (OptionType::Url, "https://r.example:5000/a", "https://r.example:5000/a"),
            (OptionType::Enum(vec!["a".into(), "b".into()]), "b", "b"),
            (OptionType::List, "a, b,c", "a,b,c"),
            (OptionType::File, "a\nb\n", "a\nb\n"),
            (OptionType::Path, "./csi.sock", "./csi.sock"),
        ] {
            assert_eq!(kind.checked(typed).as_deref(), Ok(got), "{kind:?}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_an_error() {
        for (kind, typed) in [
            (OptionType::String, "a\nb"),
            (OptionType::String, "\x1b[2J"),
            (OptionType::Bool, "yes"),
            (OptionType::Integer, "1.5"),
            (OptionType::Integer, "99999999999999999999"),
            (OptionType::Duration, "soon"),
            (OptionType::Url, "r.example:5000"),
            (OptionType::Url, "/a"),
            (OptionType::Enum(vec!["enabled".into()]), "enabld"),
            (OptionType::List, "a,,b"),
            (OptionType::Path, ""),
        ] {
            assert!(kind.checked(typed).is_err(), "{kind:?} {typed:?}");
        }
        let large = "x".repeat(MAX_VALUE_BYTES + 1);
        assert_eq!(OptionType::File.checked(&large), Err(ValueError::TooLarge(large.len() as u64)));
        let near = OptionType::Enum(vec!["enabled".into()]).checked("enabld").unwrap_err().to_string();
        assert_eq!(near, "expected one of `enabled`: did you mean `enabled`?");
    }
}

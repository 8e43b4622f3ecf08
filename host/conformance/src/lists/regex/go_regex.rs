//! An expression, compiled.

use std::fmt;

use regex::RegexBuilder;

use super::error::GoRegexError;
use super::parser::translate;

/// Bytes of an expression: a focus on every test of a suite by its name is below 2 MiB.
pub const MAX_PATTERN: usize = 4 << 20;
/// Bytes that an expression may need when it is compiled.
pub const MAX_PROGRAM: usize = 256 << 20;
/// Levels of what the translation gives: each group or repetition of the original becomes a few.
const MAX_LEVELS: u32 = 1_000;

/// A regular expression in the syntax of Go's package `regexp`.
///
/// What Go refuses is refused, and what it takes matches in the same texts: the letters `\d`, `\s`, `\w` and `\b` know ASCII only, a brace that begins no repetition stands for itself, and
/// classes have neither classes in them nor operators. Groups and repetitions may stand 100 deep in one another, where Go takes 1,000.
#[derive(Clone)]
pub struct GoRegex {
    pattern: String,
    compiled: regex::Regex,
}

impl GoRegex {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// When Go would refuse it, or it is larger than [`MAX_PATTERN`] or [`MAX_PROGRAM`].
    pub fn new(pattern: &str) -> Result<Self, GoRegexError> {
        if pattern.len() > MAX_PATTERN {
            return Err(GoRegexError::TooLong { bytes: pattern.len(), limit: MAX_PATTERN });
        }
        let translated = translate(pattern).map_err(|fault| fault.told(pattern))?;
        let compiled = RegexBuilder::new(&translated).size_limit(MAX_PROGRAM).nest_limit(MAX_LEVELS).build();
        let compiled = compiled.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => GoRegexError::TooLarge { limit: MAX_PROGRAM },
            other => GoRegexError::Inexpressible(other.to_string()),
        })?;
        Ok(Self { pattern: pattern.to_owned(), compiled })
    }

    /// Whether it matches anywhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }

    /// The expression as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.pattern
    }
}

impl fmt::Debug for GoRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GoRegex").field(&self.pattern).finish()
    }
}

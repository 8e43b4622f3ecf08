//! Go regular expressions, compiled by the crate `regex`.
//!
//! Both follow the syntax of RE2. [`GoRegex`] rewrites the parts with another meaning in Go: ASCII
//! classes and word boundaries, `\Q…\E`, and characters that are operators only in the crate.
//! docs/test-lists.md lists the remaining differences.

use std::fmt;

use regex::RegexBuilder;
use thiserror::Error;

/// Maximum size of an expression in bytes. A focus with the names of all tests of a suite has less
/// than 2 MiB.
pub const MAX_PATTERN: usize = 4 << 20;
/// Maximum memory of a compiled expression in bytes.
pub const MAX_PROGRAM: usize = 256 << 20;

/// Reason why an expression is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GoRegexError {
    /// The syntax is invalid.
    #[error("{0}")]
    Syntax(String),
    /// The expression is longer than [`MAX_PATTERN`].
    #[error("it has {0} bytes; the limit is {MAX_PATTERN}")]
    TooLong(usize),
    /// The compiled expression needs more memory than [`MAX_PROGRAM`].
    #[error("compiled, it needs more than {MAX_PROGRAM} bytes of memory")]
    TooLarge,
}

/// A regular expression in the syntax of Go's package `regexp`.
#[derive(Clone)]
pub struct GoRegex {
    pattern: String,
    compiled: regex::Regex,
}

impl GoRegex {
    /// Compiles `pattern`.
    pub fn new(pattern: &str) -> Result<Self, GoRegexError> {
        if pattern.len() > MAX_PATTERN {
            return Err(GoRegexError::TooLong(pattern.len()));
        }
        let compiled = RegexBuilder::new(&rewrite(pattern)).size_limit(MAX_PROGRAM).build();
        let compiled = compiled.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => GoRegexError::TooLarge,
            // The first lines show the expression, and the last line is the message.
            other => {
                let text = other.to_string();
                let last = text.lines().next_back().unwrap_or_default();
                GoRegexError::Syntax(last.trim_start_matches("error: ").to_owned())
            }
        })?;
        Ok(Self { pattern: pattern.to_owned(), compiled })
    }

    /// Returns whether the expression matches anywhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }

    /// Returns the original expression.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }
}

impl fmt::Debug for GoRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GoRegex").field(&self.pattern).finish()
    }
}

/// Translates an expression to the syntax of the crate.
fn rewrite(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + pattern.len() / 4);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\\' => escape(rest, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                class_start(rest, &mut out)
            }
            ']' => {
                in_class = false;
                out.push(']');
                1
            }
            '[' => class_name(rest, &mut out),
            // Class operators in the crate.
            '&' | '~' if in_class => literal(c, &mut out),
            '-' if in_class && out.ends_with('-') && !out.ends_with(r"\-") => literal(c, &mut out),
            '{' if !in_class && !is_repetition(rest) => literal(c, &mut out),
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

fn literal(c: char, out: &mut String) -> usize {
    out.push('\\');
    out.push(c);
    c.len_utf8()
}

/// Writes the translation of the escape at the start of `rest` and returns the length of the
/// escape.
fn escape(rest: &str, in_class: bool, out: &mut String) -> usize {
    let Some(c) = rest.chars().nth(1) else {
        out.push('\\');
        return 1;
    };
    let class = |inside: &str, negated: bool| match (in_class, negated) {
        (true, false) => inside.to_owned(),
        (_, negated) => format!("[{}{inside}]", if negated { "^" } else { "" }),
    };
    let negated = c.is_ascii_uppercase();
    match c {
        'Q' if !in_class => {
            let quoted = rest.get(2..).unwrap_or_default();
            let end = quoted.find(r"\E");
            out.push_str(&regex::escape(quoted.get(..end.unwrap_or(quoted.len())).unwrap_or_default()));
            return end.map_or(rest.len(), |end| 2 + end + 2);
        }
        'd' | 'D' => out.push_str(&class("0-9", negated)),
        'w' | 'W' => out.push_str(&class("0-9A-Za-z_", negated)),
        's' | 'S' => out.push_str(&class(r"\t\n\x0C\r ", negated)),
        'b' if !in_class => out.push_str(r"(?-u:\b)"),
        // The brace belongs to the escape, not to a repetition.
        'x' | 'p' | 'P' if rest.get(2..).is_some_and(|rest| rest.starts_with('{')) => {
            let length = rest.find('}').map_or(rest.len(), |end| end + 1);
            out.push_str(rest.get(..length).unwrap_or_default());
            return length;
        }
        // Word boundaries in the crate.
        '<' | '>' => out.push(c),
        c => {
            out.push('\\');
            out.push(c);
        }
    }
    1 + c.len_utf8()
}

/// Writes the start of a class and returns its length. The first `]` in a class is literal.
fn class_start(rest: &str, out: &mut String) -> usize {
    let start = if rest.starts_with("[^") { "[^" } else { "[" };
    out.push_str(start);
    if rest.get(start.len()..).is_some_and(|rest| rest.starts_with(']')) {
        out.push_str(r"\]");
        return start.len() + 1;
    }
    start.len()
}

/// Writes a named class such as `[:alpha:]`, or the character `[`, and returns its length.
fn class_name(rest: &str, out: &mut String) -> usize {
    let name = rest.strip_prefix("[:").and_then(|name| name.find(":]"));
    match name.and_then(|end| rest.get(..end + "[::]".len())) {
        Some(class) => {
            out.push_str(class);
            class.len()
        }
        None => literal('[', out),
    }
}

/// Returns whether `rest` starts with `{N}`, `{N,}` or `{N,M}`. Any other brace is literal in Go.
fn is_repetition(rest: &str) -> bool {
    let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(inside, _)| inside);
    let number = |text: &str| text == "0" || (text.parse::<u64>().is_ok() && !text.starts_with(['0', '+']));
    inside.is_some_and(|inside| match inside.split_once(',') {
        None => number(inside),
        Some((least, most)) => number(least) && (most.is_empty() || number(most)),
    })
}

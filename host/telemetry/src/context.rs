//! Trace contexts (W3C Trace Context, level 1): what connects the spans of different programs.

use std::fmt;
use std::str::FromStr;

use plumbline_core::text::first_chars;
use sha2::{Digest, Sha256};

/// The variable with the context of the caller.
const TRACEPARENT: &str = "TRACEPARENT";
/// The variable with additional data of tracing systems.
const TRACESTATE: &str = "TRACESTATE";
/// Maximum length of a `tracestate` in bytes. Programs need to pass on 512.
const MAX_STATE: usize = 512;
/// The number of characters of an invalid context in a message.
const SHOWN: usize = 80;

/// An ID of `N` bytes, which are not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id<const N: usize>([u8; N]);

/// The ID of a trace.
pub type TraceId = Id<16>;

/// The ID of a span.
pub type SpanId = Id<8>;

impl<const N: usize> Id<N> {
    /// Returns the ID that belongs to `parts`. The same parts yield the same ID, so that a process
    /// that continues the work of another one needs no record of it.
    pub fn derived(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let mut bytes = [0; N];
        bytes.iter_mut().zip(hash.finalize()).for_each(|(byte, from)| *byte = from);
        Self(if bytes == [0; N] { [1; N] } else { bytes })
    }
}

impl<const N: usize> fmt::Display for Id<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A span of another program: the parent of spans of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span in that trace.
    pub span: SpanId,
    /// Whether the trace is recorded.
    pub sampled: bool,
    /// Additional data of tracing systems, which is passed on. Empty if there is none.
    pub state: String,
}

/// Error for an invalid trace context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid trace context `{shown}`: expected `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`")]
pub struct ContextError {
    /// The beginning of the invalid value.
    pub shown: String,
}

impl TraceContext {
    /// Reads the context from the variables `TRACEPARENT` and `TRACESTATE`. `None` if the first one
    /// is not set or empty.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ContextError> {
        let Some(parent) = lookup(TRACEPARENT).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        let context: Self = parent.trim().parse()?;
        Ok(Some(context.with_state(&lookup(TRACESTATE).unwrap_or_default())))
    }

    /// Returns the context with this `tracestate`. One that is too long or not printable is dropped,
    /// because nothing depends on it.
    #[must_use]
    pub fn with_state(self, state: &str) -> Self {
        let state = state.trim();
        let fits = state.len() <= MAX_STATE && state.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        Self { state: if fits { state.to_owned() } else { String::new() }, ..self }
    }

    /// Returns the variables that hand the context to a program.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let state = (!self.state.is_empty()).then(|| (TRACESTATE, self.state.clone()));
        std::iter::once((TRACEPARENT, self.to_string())).chain(state).collect()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl FromStr for TraceContext {
    type Err = ContextError;
    fn from_str(text: &str) -> Result<Self, ContextError> {
        parse(text).ok_or_else(|| ContextError { shown: first_chars(text, SHOWN).to_owned() })
    }
}

/// Parses a `traceparent`. A later version may have further fields, which are ignored.
fn parse(text: &str) -> Option<TraceContext> {
    let mut fields = text.split('-');
    let version: [u8; 1] = field(fields.next()?)?;
    let (trace, span) = (field(fields.next()?)?, field(fields.next()?)?);
    let [flags] = field(fields.next()?)?;
    let known = version == [0] && fields.next().is_none() || version != [0] && version != [0xff];
    let zero = trace == [0; 16] || span == [0; 8];
    (known && !zero).then(|| TraceContext {
        trace: Id(trace),
        span: Id(span),
        sampled: flags & 1 == 1,
        state: String::new(),
    })
}

/// Parses bytes in lower-case hexadecimal digits.
fn field<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = text.len() == N * 2 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut bytes = [0; N];
    (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_read_and_handed_on_unchanged() {
        let context = TraceContext::from_variables(|name| match name {
            "TRACEPARENT" => Some(format!(" {PARENT}\n")),
            "TRACESTATE" => Some("vendor=1,other=a:b".to_owned()),
            _ => None,
        });
        let context = context.unwrap().unwrap();
        assert!(context.sampled);
        assert_eq!(
            context.variables(),
            [("TRACEPARENT", PARENT.to_owned()), ("TRACESTATE", "vendor=1,other=a:b".to_owned())]
        );
        assert_eq!(TraceContext::from_variables(|_| None), Ok(None));
        assert_eq!(TraceContext::from_variables(|_| Some(String::new())), Ok(None));
    }

    #[test]
    fn invalid_contexts_are_errors_and_invalid_states_are_dropped() {
        for wrong in [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-é-é-01",
        ] {
            assert!(wrong.parse::<TraceContext>().is_err(), "{wrong}");
        }
        let later = PARENT.replacen("00", "cc", 1) + "-more";
        assert_eq!(later.parse::<TraceContext>().unwrap().to_string(), PARENT);
        let context: TraceContext = PARENT.parse().unwrap();
        assert_eq!(context.clone().with_state("a\u{1b}[31m").state, "");
        assert_eq!(context.with_state(&"x".repeat(513)).state, "");
    }

    #[test]
    fn ids_depend_on_every_part() {
        assert_eq!(SpanId::derived(&["a", "b"]), SpanId::derived(&["a", "b"]));
        assert_ne!(SpanId::derived(&["a", "b"]), SpanId::derived(&["ab"]));
        assert_ne!(SpanId::derived(&["a", "b"]), SpanId::derived(&["a", "", "b"]));
    }
}

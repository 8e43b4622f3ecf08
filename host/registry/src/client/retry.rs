//! What is worth another attempt.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use plumbline_core::chain;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::error::Cause;

/// Whether a registry that answers so may answer otherwise in a while.
pub(super) fn is_passing(status: StatusCode) -> bool {
    // 501 and 505 say what a server never does.
    matches!(status.as_u16(), 429 | 408 | 500 | 502 | 503 | 504)
}

/// How long the server asks to wait, in seconds; the other form, a date, is rare and then our own pause is taken.
pub(super) fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Whether the connection broke in a way that a new one may not.
pub(super) fn is_broken(error: &reqwest::Error) -> bool {
    if tls(error).is_some() {
        return false;
    }
    let kind = io_kind(error);
    let reset = matches!(
        kind,
        Some(
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::TimedOut
        )
    );
    reset || error.is_timeout() || (error.is_request() || error.is_body()) && !error.is_connect() && kind.is_none()
}

/// What it is called.
pub(super) fn cause(error: &reqwest::Error) -> Cause {
    if let Some(why) = tls(error) {
        return Cause::Tls(format!("there is no trusted encryption: {why}"));
    }
    // The address stands in what was being done, and may carry a query that is nobody's business.
    let mut text = Vec::new();
    let mut next = error.source();
    while let Some(inner) = next {
        let told = inner.to_string();
        if !text.iter().any(|before: &String| before.contains(&told)) {
            text.push(told);
        }
        next = inner.source();
    }
    if text.is_empty() {
        text.push(chain(error));
    }
    let plain = if error.is_timeout() { "the server did not answer in time: " } else { "" };
    Cause::Connection(format!("{plain}{}", text.join(": ")))
}

/// The error of TLS, if that is what it was.
fn tls(error: &reqwest::Error) -> Option<String> {
    find(error, |inner| inner.downcast_ref::<rustls::Error>().map(ToString::to_string))
}

fn io_kind(error: &reqwest::Error) -> Option<ErrorKind> {
    find(error, |inner| inner.downcast_ref::<io::Error>().map(io::Error::kind))
}

/// The first of an error and its causes that is looked for. An `io::Error` hides what it wraps from the chain, so it is opened.
fn find<T>(error: &(dyn Error + 'static), look: impl Fn(&(dyn Error + 'static)) -> Option<T>) -> Option<T> {
    let mut next = Some(error);
    while let Some(inner) = next {
        if let Some(found) = look(inner) {
            return Some(found);
        }
        next = match inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => inner.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_seconds_are_waited_for() {
        let asked = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            asked_pause(&headers)
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(asked("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(asked("-1"), None);
        assert_eq!(asked_pause(&HeaderMap::new()), None);
    }
}

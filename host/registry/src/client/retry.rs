//! Classification of errors that can be retried.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use plumbline_core::chain;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::error::Cause;

/// Returns whether a status is transient.
pub(super) fn is_passing(status: StatusCode) -> bool {
    // 501 and 505 are permanent.
    matches!(status.as_u16(), 429 | 408 | 500 | 502 | 503 | 504)
}

/// Returns the delay in seconds that the server asks for. The date form is rare, and then the
/// default delay is used.
pub(super) fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Returns whether a new connection may avoid the error.
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

/// Converts an error of the HTTP client.
pub(super) fn cause(error: &reqwest::Error) -> Cause {
    if let Some(why) = tls(error) {
        return Cause::Tls(format!("there is no trusted encryption: {why}"));
    }
    // Skip the outermost message: it contains the URL, which is already in the context, and its
    // query may contain secrets.
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

/// Returns the TLS error, if there is one in the chain.
fn tls(error: &reqwest::Error) -> Option<String> {
    find(error, |inner| inner.downcast_ref::<rustls::Error>().map(ToString::to_string))
}

fn io_kind(error: &reqwest::Error) -> Option<ErrorKind> {
    find(error, |inner| inner.downcast_ref::<io::Error>().map(io::Error::kind))
}

/// Returns the first match in the chain of an error and its sources. `io::Error` does not expose
/// the error that it wraps as its source, so it is unwrapped.
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

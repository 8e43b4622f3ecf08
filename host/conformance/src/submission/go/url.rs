//! The URLs that Go's `url.ParseRequestURI` accepts. They include more than URLs of web pages:
//! `/path` and `mailto:x` are valid.

use std::net::Ipv6Addr;

/// Returns whether Go parses `text` as a request URI.
pub(in crate::submission) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        // `scheme:anything` is opaque to Go.
        return scheme.is_some();
    }
    let Some(authority) = rest.strip_prefix("//").filter(|_| scheme.is_some()) else { return has_valid_escapes(rest) };
    let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    is_user(user) && is_host(host) && has_valid_escapes(path)
}

/// Splits off the scheme, if there is one. `None` for a colon without a scheme.
fn split_scheme(text: &str) -> Option<(Option<&str>, &str)> {
    let Some((scheme, rest)) = text.split_once(':') else { return Some((None, text)) };
    if scheme.is_empty() {
        return None;
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fits);
    Some(if is_scheme { (Some(scheme), rest) } else { (None, text) })
}

fn is_user(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c)) && has_valid_escapes(text)
}

/// Returns whether `text` is a host with an optional port.
fn is_host(text: &str) -> bool {
    if let Some(literal) = text.strip_prefix('[') {
        let Some((address, port)) = literal.rsplit_once(']') else { return false };
        return !literal.contains('[') && is_port(port) && is_ipv6(address);
    }
    if text.contains('[') {
        return false;
    }
    let (host, port) = text.split_at(text.rfind(':').unwrap_or(text.len()));
    is_port(port) && is_host_name(host)
}

/// Returns whether `text` is an IPv6 address with an optional zone after `%25`.
fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once("%25").map_or((text, None), |(address, zone)| (address, Some(zone)));
    let zone_fits = zone.is_none_or(|zone| !zone.is_empty() && is_host_name(zone));
    zone_fits && address.parse::<Ipv6Addr>().is_ok()
}

/// Returns whether `text` is a host name. In hosts, `%` escapes only bytes outside of ASCII.
fn is_host_name(text: &str) -> bool {
    let fits = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    let escapes_fit = text.match_indices('%').all(|(at, _)| {
        let digits = text.get(at + 1..at + 3).unwrap_or_default();
        digits == "25" || matches!(digits.as_bytes(), [b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', _])
    });
    text.chars().all(fits) && escapes_fit && has_valid_escapes(text)
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Returns whether two hexadecimal digits follow every `%`.
fn has_valid_escapes(text: &str) -> bool {
    text.match_indices('%').all(|(at, _)| {
        text.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_hosts_and_escapes_are_checked() {
        for good in
            ["https://example.org", "HTTPS://EX.COM", "http://ex.com:8080/a?b#c", "http://[::1]:80/", "/x", "mailto:x"]
        {
            assert!(is_request_uri(good), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "https://ex.com:abc",
            "https://ex.com/%zz",
            "https://a b",
            "http://[::1",
            "://x",
            "a\tb",
        ] {
            assert!(!is_request_uri(bad), "{bad}");
        }
    }
}

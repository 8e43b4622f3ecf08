//! The header `WWW-Authenticate` of a server that answers 401 (RFC 9110, section 11).

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// An authentication scheme that the server offers.
#[derive(Debug, PartialEq, Eq)]
pub enum Challenge {
    /// A name and a password with every request.
    Basic,
    /// A token from a token server.
    Bearer {
        /// The URL of the token server.
        realm: String,
        /// The service that the token is for.
        service: Option<String>,
    },
}

/// Returns the preferred challenge of the server. Bearer tokens are preferred, because then the
/// password is sent to fewer hosts.
pub(crate) fn best(headers: &HeaderMap) -> Option<Challenge> {
    let all: Vec<Challenge> =
        headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).flat_map(parse).collect();
    let bearer = all.iter().position(|challenge| matches!(challenge, Challenge::Bearer { .. }));
    let at = bearer.or_else(|| all.iter().position(|challenge| *challenge == Challenge::Basic))?;
    all.into_iter().nth(at)
}

/// Parses the challenges of one header: `Scheme key=value, key="value", Scheme …`. Schemes other
/// than Basic and Bearer, and malformed challenges, are skipped.
pub fn parse(text: &str) -> Vec<Challenge> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for part in split(text) {
        let (before, value) = match part.split_once('=') {
            Some((before, value)) => (before.trim(), Some(value.trim())),
            None => (part.trim(), None),
        };
        let mut words = before.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        match (value, second) {
            (None, _) if !first.is_empty() => found.push((first.to_ascii_lowercase(), BTreeMap::new())),
            (Some(_), Some(_)) => found.push((first.to_ascii_lowercase(), BTreeMap::new())),
            _ => {}
        }
        if let (Some(value), Some((_, parameters))) = (value, found.last_mut()) {
            parameters.insert(second.unwrap_or(first).to_ascii_lowercase(), unquoted(value));
        }
    }
    found
        .into_iter()
        .filter_map(|(scheme, mut parameters)| match scheme.as_str() {
            "basic" => Some(Challenge::Basic),
            "bearer" => {
                Some(Challenge::Bearer { realm: parameters.remove("realm")?, service: parameters.remove("service") })
            }
            _ => None,
        })
        .collect()
}

/// Splits at commas outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c| {
        let cut = c == ',' && !quoted;
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = c == '\\' && quoted && !escaped;
        cut
    })
    .collect()
}

fn unquoted(text: &str) -> String {
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => {
            let mut plain = String::new();
            let mut chars = inner.chars();
            while let Some(c) = chars.next() {
                plain.extend(if c == '\\' { chars.next() } else { Some(c) });
            }
            plain
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer { realm: realm.into(), service: service.map(str::to_owned) }
    }

    #[test]
    fn challenges_are_read_as_servers_write_them() {
        let text =
            r#"Bearer realm="https://auth.example/token?a=b,c",service="r.example",scope="repository:x:pull,push""#;
        assert_eq!(parse(text), [bearer("https://auth.example/token?a=b,c", Some("r.example"))]);
        assert_eq!(parse(r#"Basic realm="x \"y\", z""#), [Challenge::Basic]);
        assert_eq!(parse("BASIC"), [Challenge::Basic]);
        assert_eq!(
            parse(r#"Basic realm="x", Bearer realm="https://a" , service=s"#),
            [Challenge::Basic, bearer("https://a", Some("s"))]
        );
        for text in ["", ",", "Bearer", "Bearer service=x", "=", "Negotiate abc==", "Digest realm=\"x", "\"", "a b c=d"]
        {
            assert!(parse(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_token_is_preferred() {
        let mut headers = HeaderMap::new();
        assert_eq!(best(&headers), None);
        headers.append(WWW_AUTHENTICATE, "Basic realm=x".parse().unwrap());
        assert_eq!(best(&headers), Some(Challenge::Basic));
        headers.append(WWW_AUTHENTICATE, "Bearer realm=y".parse().unwrap());
        assert_eq!(best(&headers), Some(bearer("y", None)));
    }
}

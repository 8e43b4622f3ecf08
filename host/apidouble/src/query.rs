//! The query of a request.

use std::str::FromStr;

use crate::failure::Failure;

/// The parameters in the order of the request; a name may occur several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(raw: &str) -> Self {
        let pairs = raw.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name, true), decode(value, true))
        });
        Self(pairs.collect())
    }

    /// Returns the first value of a parameter, if it is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns every value of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(n, _)| n == name).map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }

    /// Returns the value of a parameter as another type.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let read = |text: &str| {
            text.parse().map_err(|_| Failure::bad_request(format!("failed to read the parameter {name}: {text:?}")))
        };
        self.get(name).map(read).transpose()
    }
}

/// Decodes percent-encoding; in a query, `+` is a space.
pub(crate) fn decode(text: &str, in_query: bool) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let decoded = match (first, tail) {
            (b'%', [high, low, after @ ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| {
                rest = after;
                high << 4 | low
            }),
            (b'+', _) if in_query => Some(b' '),
            _ => None,
        };
        out.push(decoded.unwrap_or(*first));
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_encoded_values_are_read() {
        let query = Query::parse("command=ls&command=-l+%2Ftmp&labelSelector=a%3Db%2Cc&broken=%zz&empty=");
        assert_eq!(query.all("command"), ["ls", "-l /tmp"]);
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.get("broken"), Some("%zz"));
        assert_eq!(query.get("empty"), None);
        assert!(query.parsed::<u64>("command").is_err());
    }
}

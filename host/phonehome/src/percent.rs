//! Strict percent-encoding (RFC 3986, section 2.1), which rejects invalid encodings.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str};

/// The characters that are encoded in a value: all but the unreserved ones.
pub(crate) const IN_VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The characters that are encoded in a path.
pub(crate) const IN_PATH: &AsciiSet = &IN_VALUE.remove(b'/');

/// Decodes a string. Returns `None` if a `%` is not followed by two hexadecimal digits, or if the
/// bytes are not UTF-8.
pub(crate) fn decode(encoded: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.get(..2).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    if !encoded.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(encoded).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::utf8_percent_encode;

    #[test]
    fn half_an_encoding_is_refused() {
        assert_eq!(decode("a%2Fb").as_deref(), Some("a/b"));
        for bad in ["%", "%2", "%zz", "%+1", "%ff", "%2ü"] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_unreserved_characters_and_separators_of_a_path_stay() {
        assert_eq!(utf8_percent_encode("aZ9-._~/ü", IN_VALUE).to_string(), "aZ9-._~%2F%C3%BC");
        assert_eq!(utf8_percent_encode("/a b", IN_PATH).to_string(), "/a%20b");
    }
}

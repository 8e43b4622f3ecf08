//! Strict percent-encoding (RFC 3986, section 2.1), which rejects invalid encodings.

/// Decodes a string. Returns `None` if a `%` is not followed by two hexadecimal digits, or if the
/// bytes are not UTF-8.
pub(crate) fn decode(encoded: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.iter().copied();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
            bytes.push(high << 4 | low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Encodes every byte of `text` that is neither unreserved nor in `keep`.
pub(crate) fn encode(text: &str, keep: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_an_encoding_is_refused() {
        assert_eq!(decode(b"a%2Fb").as_deref(), Some("a/b"));
        for bad in [&b"%"[..], b"%2", b"%zz", b"%+1", b"%ff"] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_itself(text in ".*") {
            let encoded = encode(&text, b"/");
            prop_assert!(encoded.is_ascii());
            prop_assert_eq!(decode(encoded.as_bytes()), Some(text));
        }
    }
}

//! DSSE pre-authentication encoding (PAE): the bytes that are signed.

/// Returns the PAE of a payload: `DSSEv1`, the type and the payload, each preceded by its length.
/// The lengths make the encoding unique for each pair of type and payload.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_example_is_met() {
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
    }

    #[test]
    fn lengths_are_counted_in_bytes() {
        assert_eq!(pae("ä", "€".as_bytes()), "DSSEv1 2 ä 3 €".as_bytes());
    }
}

//! The timestamp that means "never" in the JSON of the protocol.

use jiff::Timestamp;

/// The timestamp that means "not yet": `0001-01-01T00:00:00Z`. Readers of the status annotation
/// expect it where a time is required and none is known (docs/protocol.md, "Status").
pub const NEVER: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// Returns [`NEVER`], for serde's `default`.
pub(crate) fn never() -> Timestamp {
    NEVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_is_written_as_clients_expect_it() {
        assert_eq!(NEVER.to_string(), "0001-01-01T00:00:00Z");
        assert_eq!("0001-01-01T00:00:00Z".parse::<Timestamp>().unwrap(), NEVER);
    }
}

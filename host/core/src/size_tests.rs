use super::*;
use proptest::prelude::*;

#[test]
fn reads_both_families_of_units() {
    for (text, bytes) in [
        ("0", 0),
        ("1024", 1024),
        ("256MiB", 256 << 20),
        ("256 MiB", 256 << 20),
        ("256Mi", 256 << 20),
        ("1.5GiB", 3 << 29),
        ("64kB", 64_000),
        ("2G", 2_000_000_000),
        ("1TiB", 1 << 40),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for bad in ["", "MiB", "1.2.3MiB", "-1", "1mib", "1 MiB extra", "99999999TiB", "256m", "1e3", "."] {
        assert!(parse_size(bad).is_err(), "{bad}");
    }
}

#[test]
fn shows_sizes_for_people() {
    let shown: Vec<String> =
        [0, 17, 1023, 1024, 1536, 256 << 20, (1 << 30) + (1 << 29), u64::MAX].map(|n| Bytes(n).to_string()).to_vec();
    assert_eq!(shown, ["0 B", "17 B", "1023 B", "1 KiB", "1.5 KiB", "256 MiB", "1.5 GiB", "16777215.9 TiB"]);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9.]{0,20}[ kKMGTiBx]{0,4}") {
        let _ = parse_size(&text);
    }

    #[test]
    fn plain_numbers_are_bytes(n: u64) {
        prop_assert_eq!(parse_size(&n.to_string()), Ok(n));
    }
}

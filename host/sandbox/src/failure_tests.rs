use super::*;

#[test]
fn values_are_shown_with_their_unit() {
    assert_eq!(Unit::Bytes.show(256 << 20), "256 MiB");
    assert_eq!(Unit::Bytes.show(1), "1 byte");
    assert_eq!(Unit::Bytes.show(0), "0 bytes");
    assert_eq!(Unit::Bytes.show(1500), "1500 bytes");
    assert_eq!(Unit::Bytes.show((1 << 20) + 1024), "1025 KiB");
    assert_eq!(Unit::Seconds.show(1), "1 second");
    assert_eq!(Unit::Items.show(5_000_000), "5000000 items");
}

#[test]
fn long_texts_are_cut_at_characters() {
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("äöü", 3), "ä… (6 bytes in all)");
}

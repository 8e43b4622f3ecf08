use super::*;
use proptest::prelude::*;

#[test]
fn reads_what_go_reads() {
    for (text, nanos) in [
        ("0", 0),
        ("0s", 0),
        ("5s", 5_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1.5h", 5_400_000_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("500ms", 500_000_000),
        ("+3us", 3_000),
        ("3µs", 3_000),
        ("3μs", 3_000),
        ("1.0000000019s", 1_000_000_001),
        ("2h45m10.25s", 9_910_250_000_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn errors_say_what_to_write() {
    let said: Vec<String> = ["90", "", "5x", "1h 30m", "-3s", "9999999999h", ".s", "ten minutes"]
        .map(|text| parse_duration(text).unwrap_err().to_string())
        .to_vec();
    insta::assert_snapshot!(said.join("\n"));
}

proptest! {
    #[test]
    fn written_data_reads_back_equal(nanos: u64) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        let _ = parse_duration(&text);
    }
}

//! Tests of hostile lists and trees.

use plumbline_module_known_failures::{Lists, MAX_ENTRIES, MAX_LIST_BYTES, MAX_PATTERNS};
use plumbline_sdk::Status;
use plumbline_sdk::testing::Case;
use proptest::prelude::*;

use crate::support::{judged, leaf, suite};

fn error(list: impl Into<Vec<u8>>) -> String {
    suite("known-failures").file("data/l.yaml", list).judge::<Lists>().outcome.unwrap_err()
}

#[test]
fn lists_have_an_end() {
    assert_eq!(
        error(vec![b' '; MAX_LIST_BYTES + 1]).split(" (").next().unwrap(),
        "l.yaml: it has more than 8 MiB, the most that can be read"
    );
    assert!(error("- a\n".repeat(MAX_ENTRIES + 1)).contains("there are more than 50000 entries"));
    assert!(error("- pattern: a\n".repeat(MAX_PATTERNS + 1)).contains("entry 1001: there are more than 1000 patterns"));
    assert!(error(format!("- pattern: {}\n", "a".repeat(2001))).contains("2000 bytes"));
    assert!(error(b"- \xff\n".as_slice()).contains("not UTF-8: invalid byte at offset 2"));
    assert!(error("[".repeat(10_000)).starts_with("l.yaml: it cannot be read"));
    let bomb = "- &a [x,x,x,x,x,x,x,x,x,x]\n- &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n- &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                - &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n- &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n- [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    assert!(error(bomb).starts_with("l.yaml: it cannot be read"), "{}", error(bomb));
}

#[test]
fn long_texts_are_cut_to_what_the_host_takes() {
    let list = format!("- test: a\n  reason: {}\n  source: {}\n", "r".repeat(20_000), "ü".repeat(20_000));
    let case = Case::new().format("flaky").file("data/l.yaml", list).results("global", [leaf("a", Status::Failed)]);
    let said = judged(&case);
    assert!(said.ruling("a").unwrap().reason.ends_with("r…"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// The harness enforces the host's rules for each ruling.
    #[test]
    fn no_bytes_stop_a_judge(
        name in prop::sample::select(vec!["known-failures", "flaky", "allowed-skips", "reruns"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "(- |\\[|\\]|\\{|\\}|test|pattern|until|: |\n|name|items|status|failed|\"|'|&a|\\*a| ){0,40}",
    ) {
        for content in [bytes, text.into_bytes()] {
            let case = suite(name).file("data/l.yaml", content.clone()).file("plugins/r/sonobuoy_results.yaml", content);
            let said = case.judge::<Lists>();
            prop_assert_eq!(&case.chunk(1).judge::<Lists>(), &said);
        }
    }
}

use std::io::Read;

use flate2::read::GzDecoder;
use proptest::prelude::*;

use super::*;

/// Logs of real suites, with the counts of their last line: total, passed, failed.
macro_rules! logs {
    ($($name:literal: $total:literal, $passed:literal, $failed:literal;)*) => {
        [$(Log {
            name: $name,
            packed: include_bytes!(concat!("../../tests/data/ginkgo/", $name, ".log.gz")),
            last: counts($total, $passed + $failed, $failed),
        }),*]
    };
}

struct Log {
    name: &'static str,
    packed: &'static [u8],
    last: Counts,
}

impl Log {
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        GzDecoder::new(self.packed).read_to_end(&mut text).unwrap();
        text
    }
}

fn counts(total: u64, ended: u64, failed: u64) -> Counts {
    Counts { total, ended, failed, finished: false }
}

fn all() -> Vec<Log> {
    // The Kubernetes logs are from the conformance image v1.37.2, in a cluster that rejects quotas.
    // The others are from 38 tests that pass, fail, panic, time out, skip themselves, are flaky,
    // and print bullets.
    logs! {
        "kubernetes-serial": 40, 24, 16;
        "kubernetes-parallel": 40, 24, 16;
        "kubernetes-verbose": 21, 9, 12;
        "kubernetes-parallel-verbose": 29, 17, 12;
        "kubernetes-flaky-colour": 21, 9, 12;
        "serial": 22, 16, 6;
        "parallel": 22, 17, 5;
        "verbose": 22, 16, 6;
        "veryverbose": 22, 16, 6;
        "parallel-v": 22, 17, 5;
        "colour": 22, 16, 6;
        "colour-parallel": 22, 16, 6;
        "succinct": 22, 16, 6;
        "abort": 37, 0, 1;
        "interrupted": 14, 13, 1;
        "interrupted-parallel": 14, 13, 1;
        "timeout": 14, 0, 1;
        "pass": 13, 13, 0;
    }
    .into()
}

fn read(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Counts {
    let mut ginkgo = Ginkgo::default();
    pieces.into_iter().for_each(|piece| ginkgo.read(piece.as_ref()));
    ginkgo.counts()
}

#[test]
fn the_last_counts_are_those_of_the_suite() {
    for log in all() {
        let expected = Counts { finished: true, ..log.last };
        assert_eq!(read([log.text()]), expected, "{}", log.name);
    }
}

#[test]
fn while_it_runs_no_test_is_missed_or_counted_twice() {
    for log in all() {
        let text = log.text();
        let mut ginkgo = Ginkgo::default();
        let mut before = Counts::default();
        for byte in &text {
            ginkgo.read(&[*byte]);
            let now = ginkgo.counts();
            if now.finished {
                break;
            }
            assert!(now.ended + 1 >= before.ended && now.failed >= before.failed, "{}: {before:?} {now:?}", log.name);
            before = now;
        }
        // These are the counts from marks alone, before the summary.
        assert_eq!((before.ended, before.failed), (log.last.ended, log.last.failed), "{}", log.name);
    }
}

#[test]
fn names_of_failed_tests_are_those_of_the_report() {
    let names = |name: &str| {
        let log = all().into_iter().find(|log| log.name == name).unwrap();
        let mut ginkgo = Ginkgo::default();
        ginkgo.read(&log.text());
        assert_eq!(ginkgo.failures().len() as u64, log.last.failed, "{name}");
        ginkgo.failures().to_vec()
    };
    let expected = ["fails", "fails at once", "panics", "times out", "fails in cleanup", "must pass repeatedly"];
    assert_eq!(names("serial"), expected.map(|test| format!("[sig-a] things {test} [Conformance]")));
    for log in ["serial", "parallel", "verbose", "parallel-verbose", "flaky-colour"] {
        let names = names(&format!("kubernetes-{log}"));
        let quota =
            "[sig-api-machinery] ResourceQuota should verify ResourceQuota with best effort scope. [Conformance]";
        assert!(names.iter().any(|name| name == quota), "{log}: {names:?}");
    }
}

#[test]
fn failed_tests_have_the_first_line_of_their_reason() {
    let reasons = |name: &str| {
        let log = all().into_iter().find(|log| log.name == name).unwrap();
        let mut ginkgo = Ginkgo::default();
        ginkgo.read(&log.text());
        assert_eq!(ginkgo.reasons().len() as u64, log.last.failed, "{name}");
        ginkgo.reasons().clone()
    };
    let expected = [
        ("fails", "it is bad"),
        ("fails at once", "bad"),
        ("fails in cleanup", "cleanup"),
        ("must pass repeatedly", "again"),
        ("panics", "Test Panicked"),
        ("times out", "A node timeout occurred"),
    ];
    let expected = expected.map(|(test, why)| (format!("[sig-a] things {test} [Conformance]"), why.to_owned()));
    for log in ["serial", "verbose", "colour", "colour-parallel", "succinct"] {
        assert_eq!(reasons(log), BTreeMap::from(expected.clone()), "{log}");
    }
    for log in ["serial", "parallel", "verbose", "parallel-verbose", "flaky-colour"] {
        let reasons = reasons(&format!("kubernetes-{log}"));
        let quota =
            "[sig-api-machinery] ResourceQuota should verify ResourceQuota with best effort scope. [Conformance]";
        assert!(
            reasons[quota].starts_with(r#"resourcequotas "quota-besteffort" is forbidden: ValidatingAdmissionPolicy"#),
            "{log}: {reasons:?}"
        );
    }
}

#[test]
fn a_reason_of_several_lines_is_joined_and_bounded() {
    let reason = |failure: &str| {
        let mut ginkgo = Ginkgo::default();
        let start = "• [FAILED] [1 seconds]\n[sig-a] things [It] fail\n/a_test.go:1\n\n";
        ginkgo.read(format!("Will run 9 of 9 specs\n{start}{failure}").as_bytes());
        ginkgo.reasons().get("[sig-a] things fail").cloned()
    };
    let place = "  In [It] at: /a_test.go:1 @ 11/22/26 19:29:29.951\n";
    let expected = "  [FAILED] Expected\n      <int>: 1\n  to equal\n      <int>: 2\n";
    assert_eq!(reason(&format!("{expected}{place}")).as_deref(), Some("Expected <int>: 1 to equal <int>: 2"));
    let long = format!("  [FAILED] {}\n{place}", "x".repeat(1_000));
    assert_eq!(reason(&long), Some(format!("{}…", "x".repeat(MAX_REASON))));
    // The log does not show it yet, or not at all.
    for text in [expected.to_owned(), format!("  [FAILED] in [It] - /a_test.go:1\n{place}"), place.to_owned()] {
        assert_eq!(reason(&text), None, "{text}");
    }
    assert_eq!(reason("------------------------------\n  [FAILED] of something else\n  In [It] at: /a:1\n"), None);
}

#[test]
fn a_dry_run_counts_what_would_run() {
    let log = logs! { "dry": 37, 37, 0; };
    assert_eq!(read([log[0].text()]).ended, 37);
}

#[test]
fn marks_are_counted_before_their_line_ends() {
    let mut ginkgo = Ginkgo::default();
    ginkgo.read("Will run 4 of 9 specs\nSS•S".as_bytes());
    assert_eq!(ginkgo.counts(), counts(4, 1, 0));
    // The mark arrives in two pieces.
    ginkgo.read(&"•".as_bytes()[..2]);
    assert_eq!(ginkgo.counts().ended, 1);
    ginkgo.read(&"•".as_bytes()[2..]);
    assert_eq!(ginkgo.counts().ended, 2);
    ginkgo.read("I1122 text of another process •\nS•\n".as_bytes());
    assert_eq!(ginkgo.counts().ended, 3);
    ginkgo.read("------------------------------\n• [FAILED]".as_bytes());
    assert_eq!(ginkgo.counts(), counts(4, 4, 1));
}

#[test]
fn states_of_all_versions_are_known() {
    let failed = [
        "• [FAILED] [12.3 seconds]",
        "• [PANICKED] [0.1 seconds]",
        "•! [PANICKED!] [0.1 seconds]",
        "• [TIMEDOUT] [12.3 seconds]",
        "• [INTERRUPTED] [1 seconds]",
        "• [ABORTED] [1 seconds]",
        "• [FAILED] DURING REPETITION #2 [0.1 seconds]",
        "• Failure [60.3 seconds]",
        "• Failure in Spec Setup (BeforeEach) [60.3 seconds]",
        "•! Panic [1.2 seconds]",
        "•... Timeout [1.2 seconds]",
        "  text without an end• [FAILED] [1.2 seconds]",
    ];
    let passed = [
        "•",
        "• [4.567 seconds]",
        "• [SLOW TEST:12.345 seconds]",
        "•{\"msg\":\"PASSED a test\",\"total\":25}",
        "↺ [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [3.000 seconds]",
        "  text without an end• [4.567 seconds]",
    ];
    let none = [
        "  • [4.567 seconds]",
        "• a bullet of a test",
        "[SynchronizedBeforeSuite] PASSED [1.2 seconds]",
        "[BeforeSuite] [FAILED] [1.2 seconds]",
        "P [PENDING]",
        "S [SKIPPED]",
        "  Attempt #1 Failed.  Retrying ↺ @ 11/22/26 19:29:31.046",
    ];
    for (lines, ended, failures) in [(&failed[..], 1, 1), (&passed, 1, 0), (&none, 0, 0)] {
        for line in lines {
            for end in ["", "\n", "\r\n"] {
                let got = read([format!("Will run 9 of 9 specs\nSS\n{line}{end}")]);
                assert_eq!(got, counts(9, ended, failures), "{line:?}");
            }
        }
    }
    for line in ["S [SKIPPED] [0.001 seconds]\n", "S [SKIPPING] in Spec Setup (BeforeEach) [0.001 seconds]"] {
        assert_eq!(read([format!("Will run 9 of 9 specs\n{line}")]), counts(8, 0, 0), "{line:?}");
    }
}

#[test]
fn a_suite_that_starts_again_is_counted_from_the_beginning() {
    let first = all().remove(0).text();
    let second = "Will run 2 of 7197 specs\nS•".as_bytes();
    assert_eq!(read([&first, second]), counts(2, 1, 0));
}

#[test]
fn a_mark_in_the_line_that_another_file_interrupts_counts() {
    let mut ginkgo = Ginkgo::default();
    ginkgo.read("S•".as_bytes());
    ginkgo.end_line();
    ginkgo.read("•\n".as_bytes());
    assert_eq!(ginkgo.counts().ended, 2);
}

#[test]
fn lines_without_end_take_no_memory() {
    let mut ginkgo = Ginkgo::default();
    for _ in 0..100 {
        ginkgo.read("S•".repeat(1_000).as_bytes());
    }
    assert_eq!(ginkgo.counts().ended, 100_000);
    for _ in 0..100 {
        ginkgo.read(&[0xff; 10_000]);
    }
    assert_eq!((ginkgo.line.text.len(), ginkgo.counts().ended), (MAX_TEXT, 100_000));
}

proptest! {
    #[test]
    fn pieces_of_a_log_give_the_same_counts(which in 0..all().len(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        let log = all().remove(which);
        let text = log.text();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut rest = text.as_slice();
        for (at, cut) in cuts.iter().enumerate() {
            let (piece, after) = rest.split_at(cut - if at == 0 { 0 } else { cuts[at - 1] });
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        prop_assert_eq!(read(pieces), Counts { finished: true, ..log.last });
    }

    #[test]
    fn any_bytes_in_any_pieces_give_the_same_counts(
        parts in prop::collection::vec(prop_oneof!["[SP•↺ \\[\\]\n\r\u{1b}m0-9A-Zn.-]{0,12}", Just("• [FAILED] [1 seconds]\n".to_owned()), Just("Will run 5 of 9 specs\n".to_owned()), Just("[1] x - 5/9 specs - 3 procs ".to_owned()), Just("Ran 5 of 9 Specs in 1.0 seconds\nFAIL! -- 3 Passed | 2 Failed | 0 Pending | 4 Skipped\n".to_owned())], 0..12),
        size in 1_usize..9,
    ) {
        let text = parts.concat().into_bytes();
        prop_assert_eq!(read(text.chunks(size)), read([&text]));
    }
}

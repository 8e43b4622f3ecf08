//! Files that journald's own programs made.

use std::process::Command;
use std::time::Duration;

use plumbline_nodelogs::{LIMIT_BYTES, MISSING_BYTES, MISSING_LINES, Options, Source, TRUNCATED, write_logs};
use serde_json::json;

use crate::bed::{Bed, data, message, parsed};

const KINDS: [&str; 3] = ["regular", "compact", "plain"];

#[test]
fn every_kind_of_file_reads_as_journalctl_reads_it() {
    for kind in KINDS {
        let bed = Bed::with(&[("system.journal", &data(&format!("{kind}.journal")))]);
        let (lines, summary) = bed.logs(&bed.options());
        let expected = parsed(&String::from_utf8(data(&format!("{kind}.json"))).unwrap());
        assert_eq!(lines.len(), 208);
        for (line, expected) in lines.iter().zip(&expected) {
            assert_eq!(line, expected, "{kind}");
        }
        assert_eq!((summary.source, summary.lines, summary.missing_lines), (Some(Source::Files), 208, 0));
        assert!(summary.notes.is_empty() && summary.failure.is_none(), "{summary:?}");
    }
}

/// The same with the program of this machine, which may be newer than that which made the data: then it prints further keys.
#[test]
fn journalctl_of_this_machine_agrees() {
    let bed = Bed::with(&[("system.journal", &data("regular.journal"))]);
    let file = bed.root().join("var/log/journal").join(crate::bed::MACHINE).join("system.journal");
    let asked = Command::new("journalctl").arg("--file").arg(file).args(["-o", "json", "-a", "--no-pager"]).output();
    let Ok(asked) = asked.as_ref().map(|output| String::from_utf8_lossy(&output.stdout)) else {
        eprintln!("SKIPPED journalctl_of_this_machine_agrees: there is no journalctl");
        return;
    };
    let (lines, _) = bed.logs(&bed.options());
    let mut expected = parsed(&asked);
    for line in &mut expected {
        line.as_object_mut().unwrap().retain(|key, _| !key.starts_with("__SEQNUM"));
    }
    assert_eq!(lines, expected);
}

#[test]
fn several_files_are_one_log_by_time() {
    let bed = Bed::with(&[
        ("a.journal", &data("regular.journal")),
        ("b.journal~", &data("compact.journal")),
        ("c.journal", &data("plain.journal")),
    ]);
    let (lines, _) = bed.logs(&bed.options());
    assert_eq!(lines.len(), 3 * 208);
    let times: Vec<u64> =
        lines.iter().map(|line| line["__REALTIME_TIMESTAMP"].as_str().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted());
}

#[test]
fn only_what_is_new_enough() {
    let bed = Bed::with(&[("system.journal", &data("regular.journal"))]);
    let (lines, summary) = bed.logs(&Options { since: Duration::from_secs(3600), ..bed.options() });
    assert!(lines.is_empty() && summary.failure.is_none(), "the data are of 2023: {lines:?}");
    // Entry 150 is the first one that is wanted: arrays before it are passed over.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let since = now - Duration::from_secs(1_700_000_150);
    let (lines, _) = bed.logs(&Options { since, ..bed.options() });
    // A second may have begun meanwhile.
    assert!((57..=59).contains(&lines.len()), "{}", lines.len());
    assert_eq!(lines.last().unwrap()["PRIORITY"], "0");
}

#[test]
fn beyond_the_limit_the_newest_stay_and_the_first_line_says_so() {
    let bed = Bed::with(&[("system.journal", &data("regular.journal"))]);
    let (all, _) = bed.logs(&bed.options());
    let (lines, summary) = bed.logs(&Options { max_bytes: 100_000, ..bed.options() });
    let (first, rest) = lines.split_first().unwrap();
    assert_eq!(rest, &all[all.len() - rest.len()..]);
    let missing = all.len() - rest.len();
    assert_eq!((first[TRUNCATED].as_str(), summary.missing_lines), (Some("1"), missing as u64));
    assert_eq!((&first[MISSING_LINES], &first[LIMIT_BYTES]), (&json!(missing.to_string()), &json!("100000")));
    let bytes: usize = first[MISSING_BYTES].as_str().unwrap().parse().unwrap();
    assert!(bytes > 1000 && message(first).contains("are left out"), "{first}");
    assert!(std::fs::metadata(bed.output()).unwrap().len() < 100_000 + 400);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let bed = Bed::with(&[("system.journal", &data("plain.journal"))]);
    let error = write_logs(&bed.options(), Some(&bed.root().join("nowhere/logs"))).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}
